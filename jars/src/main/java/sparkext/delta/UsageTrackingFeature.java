// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import java.util.List;
import org.apache.spark.sql.delta.DeltaConfig;
import org.apache.spark.sql.delta.PreDowngradeTableFeatureCommand;
import org.apache.spark.sql.delta.RemovableFeature;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.WriterFeature;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The writer table feature {@code columnMappingUsageTracking}.
 *
 * <p>A table needs no preparation before Delta drops the feature, so every snapshot may be
 * downgraded. Readers ignore the feature, so the history needs no protection, and Delta never calls
 * {@link #actionUsesFeature}. The commit of the downgrade removes the flag.
 *
 * <p>Source: Delta 4.4.0, TableFeature.scala, {@code RemovableFeature}.
 *
 * <p>Deserialization returns the singleton, because Delta sends features to executors and compares
 * features by identity.
 */
public final class UsageTrackingFeature extends WriterFeature implements RemovableFeature {
  public static final String NAME = "columnMappingUsageTracking";
  public static final String FLAG = "delta.columnMapping.hasDroppedOrRenamed";

  /** The table property that enables the feature. */
  public static final String PROPERTY = "delta.feature." + NAME;

  private static final String DEFAULTS = "spark.databricks.delta.properties.defaults.";

  /** The setting by which a session enables the feature for every new table. */
  public static final String FEATURE_DEFAULT = DEFAULTS + "feature." + NAME;

  /** The setting by which a session could set the flag of new tables. A check refuses it. */
  public static final String FLAG_DEFAULT = DEFAULTS + "columnMapping.hasDroppedOrRenamed";

  public static final UsageTrackingFeature INSTANCE = new UsageTrackingFeature();

  private static final long serialVersionUID = 1L;

  private UsageTrackingFeature() {
    super(NAME);
  }

  /** Returns whether a table with this protocol is tracked. */
  public static boolean isSupportedBy(Protocol protocol) {
    return protocol.writerFeatures().isDefined() && protocol.writerFeatures().get().contains(NAME);
  }

  /**
   * Adds the flag to Delta's map of table properties. The property is editable, because CREATE
   * TABLE LIKE copies the flag and Delta refuses to copy properties that are not editable. {@code
   * PropertyCheck} refuses statements that set the flag.
   *
   * <p>The first session with the extension calls this method once while the session starts. Delta
   * reads the map without a lock, so a lock in this method would have no effect. A statement of a
   * session without the extension may run at the same time. This statement fails only if it
   * iterates over the map while this method adds the entry.
   */
  public static void registerFlag() {
    scala.Function1<String, String> asWritten = value -> value;
    scala.Function1<String, Object> anyValue = value -> true;
    DeltaConfig<String> flag =
        new DeltaConfig<>(
            FLAG,
            "false",
            asWritten,
            anyValue,
            "is set by the writer",
            /* editable= */ true,
            CollectionConverters.asScala(List.<String>of()).toList());
    String entry = FLAG.substring("delta.".length()).toLowerCase(java.util.Locale.ROOT);
    DeltaShims.entries().put(entry, flag);
  }

  @Override
  public PreDowngradeTableFeatureCommand preDowngradeCommand(DeltaTableV2 table) {
    return NothingToPrepare.command();
  }

  @Override
  public boolean validateDropInvariants(DeltaTableV2 table, Snapshot snapshot) {
    return true;
  }

  /** Delta 4.0 calls this method in place of {@link #validateDropInvariants}. */
  public boolean validateRemoval(Snapshot snapshot) {
    return true;
  }

  @Override
  public boolean actionUsesFeature(Action action) {
    // Delta calls this only for features with history protection.
    throw new UnsupportedOperationException(NAME);
  }

  @Override
  public Seq<String> tablePropertiesToRemoveAtDowngradeCommit() {
    return CollectionConverters.asScala(List.of(FLAG)).toList();
  }

  private Object readResolve() {
    return INSTANCE;
  }
}
