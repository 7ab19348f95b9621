// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.RowId$;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.FileRequest;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.StoredVector;

/** Decides by the log which files of a table's version are kept, copied or rewritten. */
public final class FilePlan {
  private static final String ICEBERG_COMPAT = "delta.enableIcebergCompat";
  private static final String MAX_COLUMN_ID = "delta.columnMapping.maxColumnId";

  private final ColumnPlan columns;
  private final Protocol protocol;
  private final Metadata metadata;
  private final CopyPlaces places;
  private final RenamedKeys keys;
  private final boolean haveRowIds;
  private final boolean isIcebergCompatible;
  private final boolean isPurge;

  /**
   * The decision for a file.
   *
   * @param statistics with the new names; null if the file has none
   * @param partitionValues with the new names
   * @param mayBeKept whether the file is kept if its footer needs no change
   * @param reason why the file must be rewritten; null if the footer decides
   */
  public record FileDecision(
      AddFile file,
      String statistics,
      Map<String, String> partitionValues,
      boolean mayBeKept,
      String reason) {}

  /** Plans the removal of column mapping. */
  public static FilePlan ofRemoval(ColumnPlan columns, Snapshot table, CopyPlaces places) {
    List<String> partitions = CollectionConverters.asJava(table.metadata().partitionColumns());
    return new FilePlan(columns, table, partitions, places, /* isPurge= */ false);
  }

  /**
   * Plans a purge of dropped columns. A file with a deletion vector is rewritten without the
   * deleted rows, and files of other tables may be kept.
   */
  public static FilePlan ofPurge(ColumnPlan columns, Snapshot table, CopyPlaces places) {
    List<String> partitions = List.of(table.metadata().physicalPartitionSchema().fieldNames());
    return new FilePlan(columns, table, partitions, places, /* isPurge= */ true);
  }

  private FilePlan(
      ColumnPlan columns,
      Snapshot table,
      List<String> partitionColumns,
      CopyPlaces places,
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

  CopyPlaces places() {
    return places;
  }

  /** Returns whether copies by an earlier plan equal copies by this plan. */
  public boolean continues(FilePlan earlier) {
    return columns.continues(earlier.columns, earlier.maxColumnId());
  }

  /** Returns the highest column id so far. If the table lacks the property, no column is newer. */
  public long maxColumnId() {
    return metadata
        .configuration()
        .get(MAX_COLUMN_ID)
        .map(Long::parseLong)
        .getOrElse(() -> Long.MAX_VALUE);
  }

  /** Returns whether rows keep their ids if Delta rewrites them. */
  public boolean tracksRows() {
    return RowTracking$.MODULE$.isEnabled(protocol, metadata);
  }

  /** Returns the new names of the keys in the log. */
  public RenamedKeys keys() {
    return keys;
  }

  public FileDecision decide(AddFile file) {
    if (isPurge && file.deletionVector() != null) {
      return toRewrite(file, "it has a deletion vector");
    }
    RenamedKeys.Statistics statistics;
    try {
      statistics = keys.statistics(file.stats());
    } catch (UncheckedIOException broken) {
      return toRewrite(file, "its statistics are not a JSON object");
    }
    if (file.deletionVector() != null && file.numPhysicalRecords().isEmpty()) {
      // Delta commits no deletion vector of a file whose rows are not counted.
      return toRewrite(file, "the log lacks its number of rows, which its deletion vector needs");
    }
    if (haveRowIds && file.baseRowId().isEmpty() && file.numPhysicalRecords().isEmpty()) {
      return toRewrite(file, "the log lacks its number of rows, which row ids need");
    }
    if (isIcebergCompatible && file.numPhysicalRecords().isEmpty()) {
      return toRewrite(file, "the log lacks its number of rows, which Iceberg needs");
    }
    Map<String, String> oldValues = CollectionConverters.asJava(file.partitionValues());
    Map<String, String> values = keys.partitionValues(oldValues);
    // A commit cannot add a file of the table again with other values: Delta's checksum
    // (Checksum.scala, `computeNewChecksum`) would count the file twice.
    boolean mayBeKept =
        !statistics.isRenamed()
            && values.equals(oldValues)
            && (isPurge || !isForeign(file))
            && !places.paths().isMisleading(file.path(), oldValues, values);
    return new FileDecision(file, statistics.json(), values, mayBeKept, null);
  }

  /** Returns whether a shallow clone has the file or its vector from a source table. */
  private boolean isForeign(AddFile file) {
    return CopiedVectors.isForeign(file) || places.paths().isOutside(file.path());
  }

  /** Returns whether {@code delta.enableIcebergCompatV1} or a later version of it is true. */
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
   * Returns the request to read a file's footer and deletion vector, and to copy the file if there
   * is a target.
   */
  FileRequest request(int number, FileDecision decision, String target) {
    AddFile file = decision.file();
    StoredVector stored = CopiedVectors.stored(file, places.paths().table());
    boolean isCopied = stored != null && target != null && CopiedVectors.isForeign(file);
    return new FileRequest(
        number,
        places.paths().uri(file.path()),
        file.size(),
        target,
        decision.mayBeKept(),
        decision.reason(),
        stored,
        isCopied ? places.vectorTarget(target) : null);
  }
}
