// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import java.util.function.Predicate;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.UniversalFormat;
import org.apache.spark.sql.delta.actions.Metadata;

/**
 * Tests whether VACUUM of a table ignores files and folders with a given name.
 *
 * <p>Source: Delta 4.4.0, VacuumCommand.scala, {@code getFilesFromFilesystem}.
 *
 * @param table the newest metadata. VACUUM never ignores the folder of a present partition column,
 *     and may ignore the folder of a former one, such as {@code _p=1}.
 */
public record HiddenFolders(Metadata table) implements Predicate<String> {
  @Override
  public boolean test(String name) {
    return DeltaTableUtils.isHiddenDirectory(
        table.partitionColumns(), name, UniversalFormat.icebergEnabled(table));
  }
}
