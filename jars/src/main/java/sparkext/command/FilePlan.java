// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import java.io.UncheckedIOException;
import java.util.Map;
import org.apache.spark.sql.delta.RowId$;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.CopyJob;
import sparkext.parquet.ColumnPlan;

/** What leaving column mapping does to one file of a table, as far as the log tells. */
final class FilePlan {
  private final FilePlaces places;
  private final RenamedKeys keys;
  private final boolean haveRowIds;

  /**
   * What becomes of a file.
   *
   * @param statistics under the new names; null where it has none
   * @param partitionValues likewise
   * @param mayStay whether nothing new has to be said of it, where its names are right
   * @param reason why it has to be rewritten, whatever is in it; else null
   */
  record Looked(
      AddFile file,
      String statistics,
      Map<String, String> partitionValues,
      boolean mayStay,
      String reason) {}

  /** The files of a table, with column mapping or without it already. */
  FilePlan(ColumnPlan plan, SnapshotDescriptor table, FilePlaces places) {
    this.places = places;
    this.keys = RenamedKeys.of(plan, table.metadata());
    this.haveRowIds = RowId$.MODULE$.isSupported(table.protocol());
  }

  /** The keys of the log by which they are known. */
  RenamedKeys keys() {
    return keys;
  }

  Looked look(AddFile file) {
    if (file.deletionVector() != null && file.numPhysicalRecords().isEmpty()) {
      // Delta commits no deletion vector of a file whose rows are not counted.
      return toRewrite(file, "nobody counted the rows of its deletion vector");
    }
    if (haveRowIds && file.baseRowId().isEmpty() && file.numPhysicalRecords().isEmpty()) {
      return toRewrite(file, "nobody counted its rows, which get ids");
    }
    RenamedKeys.Statistics statistics;
    try {
      statistics = keys.statistics(file.stats());
    } catch (UncheckedIOException broken) {
      return toRewrite(file, "its statistics are no JSON object");
    }
    Map<String, String> oldValues = CollectionConverters.asJava(file.partitionValues());
    Map<String, String> values = keys.partitionValues(oldValues);
    // Of a file that stays nothing can be said anew: Delta's checksum (Checksum.scala,
    // `computeNewChecksum`) would count it twice.
    boolean mayStay =
        !statistics.isRenamed()
            && values.equals(oldValues)
            && !places.isMisleading(file.path(), oldValues, values);
    return new Looked(file, statistics.json(), values, mayStay, null);
  }

  private static Looked toRewrite(AddFile file, String reason) {
    return new Looked(file, null, Map.of(), false, reason);
  }

  /** The order to look at a file's footer, and to copy it if it has a target. */
  CopyJob.Order order(int number, Looked looked, String target) {
    return new CopyJob.Order(
        number, places.uri(looked.file().path()), looked.file().size(), target, looked.mayStay());
  }
}
