// SPDX-License-Identifier: Apache-2.0
package sparkext.feature;

import org.apache.spark.sql.delta.DeletionVectorsPreDowngradeCommand;
import org.apache.spark.sql.delta.TypeWideningMetadata$;
import org.apache.spark.sql.delta.TypeWideningPreDowngradeCommand;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;

/**
 * Whether DROP FEATURE of a feature of Delta's looks for its traces in data files, by REORG TABLE.
 *
 * <p>Source: Delta 4.0.0, PreDowngradeTableFeatureCommand.scala.
 */
public final class FeatureTraces {
  private FeatureTraces() {}

  /**
   * Of deletion vectors in all files, whether a vector is known of or not.
   *
   * @param command a {@code DeletionVectorsPreDowngradeCommand}
   */
  public static boolean areVectorsSought(Object command) {
    return hasFiles(((DeletionVectorsPreDowngradeCommand) command).table());
  }

  /**
   * Of type widening in all files, once the schema has a column that was widened.
   *
   * @param command a {@code TypeWideningPreDowngradeCommand}
   */
  public static boolean areWideningsSought(Object command) {
    DeltaTableV2 table = ((TypeWideningPreDowngradeCommand) command).table();
    // Delta asks the schema that the statement was analyzed with.
    return TypeWideningMetadata$.MODULE$.containsTypeWideningMetadata(
            table.initialSnapshot().schema())
        && hasFiles(table);
  }

  private static boolean hasFiles(DeltaTableV2 table) {
    return table.update().numOfFiles() > 0;
  }
}
