// SPDX-License-Identifier: Apache-2.0
package sparkext.feature;

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
import sparkext.shim.DeltaShims;

/**
 * The writer table feature {@code columnMappingUsageTracking}.
 *
 * <p>Delta's {@code RemovableFeature} (TableFeature.scala, 4.4.0) asks four things of it: (a)
 * nothing has to be done before the downgrade; (b) so every snapshot may be downgraded; (c) a
 * writer feature leaves no trace that a reader could misread, so history needs no protection; (d)
 * hence no action is ever asked whether it uses the feature. The flag goes in the downgrade commit
 * itself.
 *
 * <p>A singleton also after serialization: Delta sends features to executors and compares them by
 * identity.
 */
public final class UsageTrackingFeature extends WriterFeature implements RemovableFeature {
  public static final String NAME = "columnMappingUsageTracking";
  public static final String FLAG = "delta.columnMapping.hasDroppedOrRenamed";

  /** Asks for the feature. */
  public static final String PROPERTY = "delta.feature." + NAME;

  private static final String DEFAULTS = "spark.databricks.delta.properties.defaults.";

  /** By which a session asks for the feature of every new table. */
  public static final String FEATURE_DEFAULT = DEFAULTS + "feature." + NAME;

  /** By which a session would set the flag of every new table. */
  public static final String FLAG_DEFAULT = DEFAULTS + "columnMapping.hasDroppedOrRenamed";

  public static final UsageTrackingFeature INSTANCE = new UsageTrackingFeature();

  private static final long serialVersionUID = 1L;

  private UsageTrackingFeature() {
    super(NAME);
  }

  /** Whether a table with this protocol is tracked. */
  public static boolean isSupportedBy(Protocol protocol) {
    return protocol.writerFeatures().isDefined() && protocol.writerFeatures().get().contains(NAME);
  }

  /**
   * Makes the flag a property that Delta knows. It is editable in Delta's eyes, since CREATE TABLE
   * LIKE copies it and Delta validates the copy; users are refused at the statement.
   *
   * <p>Delta reads the map without a lock, so none taken here would help. It is called once for a
   * Delta, while the first session with the extension starts: what can race with it is a statement
   * of a session without the extension, which never asks for this entry, and which at worst fails
   * for the change of the map while it went through it.
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

  /** The same, as Delta 4.0 asks it. */
  public boolean validateRemoval(Snapshot snapshot) {
    return true;
  }

  @Override
  public boolean actionUsesFeature(Action action) {
    // Asked only of features with history protection.
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
