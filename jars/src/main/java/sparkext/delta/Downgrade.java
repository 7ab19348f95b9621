// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;

/** Removes the flag when DROP FEATURE drops the feature on Delta 4.0. */
public final class Downgrade {
  private Downgrade() {}

  /**
   * Removes the flag in the commit that drops the feature. Delta 4.0 does not call {@link
   * UsageTrackingFeature#tablePropertiesToRemoveAtDowngradeCommit}.
   *
   * @param transaction an {@code OptimisticTransaction}
   * @param protocol the new {@code Protocol} that the transaction will commit
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
