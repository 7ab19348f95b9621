// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * As {@link InsertHook}, where INSERT OVERWRITE replaces the partitions that it writes to.
 *
 * <p>Why here: this command writes by itself, under {@code spark.sql.sources.partitionOverwriteMode
 * = dynamic}.
 *
 * <p>If it is missing: as with that.
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
    return DeltaHooks.NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("run")
        .and(takesArguments(1))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(returns(named("scala.collection.immutable.Seq")));
  }

  @Override
  public String adviceName() {
    return ViewInsertHook.RememberTableAdvice.class.getName();
  }
}
