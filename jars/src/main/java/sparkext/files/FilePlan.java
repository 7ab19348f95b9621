// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.RowId$;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.FileRequest;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.StoredVector;

/** What becomes of each file of a table's version that is copied, as far as the log says. */
public final class FilePlan {
  private static final String ICEBERG_COMPAT = "delta.enableIcebergCompat";
  private static final String MAX_COLUMN_ID = "delta.columnMapping.maxColumnId";

  private final ColumnPlan columns;
  private final Protocol protocol;
  private final Metadata metadata;
  private final FilePlaces places;
  private final RenamedKeys keys;
  private final boolean haveRowIds;
  private final boolean isIcebergCompatible;
  private final boolean isPurge;

  /**
   * What becomes of a file.
   *
   * @param statistics under the new names; null where it has none
   * @param partitionValues under the new names
   * @param mayStay whether nothing new has to be said of it, where its names are right
   * @param reason why it has to be rewritten, whatever is in it; else null
   */
  public record FileDecision(
      AddFile file,
      String statistics,
      Map<String, String> partitionValues,
      boolean mayStay,
      String reason) {}

  /**
   * The files of a table, with column mapping or without it already.
   *
   * @param partitionColumns as the log will have them
   * @param isPurge whether files are written anew for their own sake: one with a deletion vector is
   *     rewritten without the rows, and files of other tables may stay
   */
  public FilePlan(
      ColumnPlan columns,
      SnapshotDescriptor table,
      List<String> partitionColumns,
      FilePlaces places,
      boolean isPurge) {
    this.columns = columns;
    this.protocol = table.protocol();
    this.metadata = table.metadata();
    this.places = places;
    this.keys = RenamedKeys.of(columns, partitionColumns);
    this.haveRowIds = RowId$.MODULE$.isSupported(protocol);
    this.isIcebergCompatible = isIcebergCompatible(metadata);
    this.isPurge = isPurge;
  }

  ColumnPlan columns() {
    return columns;
  }

  /** Whether what an earlier plan made of a file is what this one would make of it. */
  public boolean continues(FilePlan earlier) {
    return columns.continues(earlier.columns, earlier.maxColumnId());
  }

  /** The highest id that a column had; without the property no column is known to be a new one. */
  public long maxColumnId() {
    return metadata
        .configuration()
        .get(MAX_COLUMN_ID)
        .map(Long::parseLong)
        .getOrElse(() -> Long.MAX_VALUE);
  }

  /** Whether rows keep their ids where Delta writes them anew. */
  public boolean tracksRows() {
    return RowTracking$.MODULE$.isEnabled(protocol, metadata);
  }

  /** The keys of the log by which they are known. */
  public RenamedKeys keys() {
    return keys;
  }

  public FileDecision look(AddFile file) {
    if (isPurge && file.deletionVector() != null) {
      return toRewrite(file, "it has a deletion vector");
    }
    if (file.deletionVector() != null && file.numPhysicalRecords().isEmpty()) {
      // Delta commits no deletion vector of a file whose rows are not counted.
      return toRewrite(file, "nobody counted the rows of its deletion vector");
    }
    if (haveRowIds && file.baseRowId().isEmpty() && file.numPhysicalRecords().isEmpty()) {
      return toRewrite(file, "nobody counted its rows, which get ids");
    }
    if (isIcebergCompatible && file.numPhysicalRecords().isEmpty()) {
      return toRewrite(file, "nobody counted its rows, as Iceberg wants");
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
            && (isPurge || !isForeign(file))
            && !places.isMisleading(file.path(), oldValues, values);
    return new FileDecision(file, statistics.json(), values, mayStay, null);
  }

  /** Whether a shallow clone has it, or its deletion vector, from its source, which may go. */
  private boolean isForeign(AddFile file) {
    return CopiedVectors.isForeign(file) || places.isOutside(file.path());
  }

  /** By any of {@code delta.enableIcebergCompatV1} and those that came after it. */
  private static boolean isIcebergCompatible(Metadata metadata) {
    return CollectionConverters.asJava(metadata.configuration()).entrySet().stream()
        .anyMatch(
            property ->
                property.getKey().startsWith(ICEBERG_COMPAT)
                    && Boolean.parseBoolean(property.getValue()));
  }

  private static FileDecision toRewrite(AddFile file, String reason) {
    return new FileDecision(file, null, Map.of(), false, reason);
  }

  /**
   * The order to look at a file's footer and deletion vector, and to copy it if it has a target;
   * null where there is nothing to look at.
   */
  FileRequest request(int number, FileDecision looked, String target) {
    AddFile file = looked.file();
    StoredVector stored = CopiedVectors.stored(file, places.table());
    if (looked.reason() != null && stored == null) {
      return null;
    }
    boolean isCopied = stored != null && target != null && CopiedVectors.isForeign(file);
    return new FileRequest(
        number,
        places.uri(file.path()),
        file.size(),
        target,
        looked.mayStay(),
        looked.reason(),
        stored == null
            ? null
            : new FileRequest.Vector(stored, isCopied ? places.vectorTarget(target) : null));
  }
}
