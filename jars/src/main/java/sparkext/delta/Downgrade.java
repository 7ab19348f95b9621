// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;

/** Removes the flag together with the feature, in DROP FEATURE. */
public final class Downgrade {
  private Downgrade() {}

  /**
   * Removes the flag from a table in the commit that drops the feature, on Delta 4.0. That release
   * does not read the properties that a feature lists.
   *
   * @param transaction an {@code OptimisticTransaction}
   * @param protocol the {@code Protocol} that the transaction was given
   */
  public static void removeFlag(Object transaction, Object protocol) {
    OptimisticTransaction downgrade = (OptimisticTransaction) transaction;
    Protocol before = downgrade.snapshot().protocol();
    if (downgrade.canUpdateMetadata()
        && UsageTrackingFeature.isSupportedBy(before)
        && before.removeFeature(UsageTrackingFeature.INSTANCE).equals(protocol)) {
      Metadata metadata = downgrade.metadata();
      downgrade.updateMetadata(
          ChangedMetadata.of(
              metadata,
              metadata.schemaString(),
              metadata.configuration().removed(UsageTrackingFeature.FLAG)),
          /* ignoreDefaultProperties= */ false);
    }
  }
}
