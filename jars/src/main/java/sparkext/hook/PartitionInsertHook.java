// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * Lets an INSERT OVERWRITE that replaces the partitions that it writes to remember the table of its
 * analysis, as {@link InsertHook} does for others.
 *
 * <p>Why here: this command writes by itself, under {@code spark.sql.sources.partitionOverwriteMode
 * = dynamic}.
 *
 * <p>If it is missing: as without {@link InsertHook}.
 *
 * <p>Source: Delta 4.4.0, DeltaAnalysis.scala, {@code DeltaDynamicPartitionOverwriteCommand.run}.
 */
final class PartitionInsertHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";

  @Override
  public String typeName() {
    return DELTA + "DeltaDynamicPartitionOverwriteCommand";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return DeltaHook.ofCommand("run");
  }

  @Override
  public String adviceName() {
    return ViewInsertHook.RememberTableAdvice.class.getName();
  }
}
