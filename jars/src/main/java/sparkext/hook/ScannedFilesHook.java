// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * Refuses to put files of a table's newest version under a plan that would look for columns by
 * names that these files have not, or that writes rows again and knows too few columns.
 *
 * <p>Why here: every scan of a Delta table that is planned goes through this method, in a
 * transaction and outside of one, and so do the rows that UPDATE, DELETE and MERGE write again.
 * Aggregates that need no scan are {@link sparkext.stale.StaleAggregate}'s.
 *
 * <p>If it is missing: a DeltaTable, a DataFrame or a statement that was analysed before column
 * mapping was switched off, or a name was given to another column, writes nulls and others' values.
 *
 * <p>Source: Delta 4.4.0, DeltaTable.scala, {@code DeltaTableUtils.replaceFileIndex}.
 */
final class ScannedFilesHook implements DeltaHook {
  private static final String PLAN = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan";

  @Override
  public String typeName() {
    return "org.apache.spark.sql.delta.DeltaTableUtils$";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("replaceFileIndex")
        .and(takesArguments(2))
        .and(takesArgument(0, named(PLAN)))
        .and(takesArgument(1, named("org.apache.spark.sql.execution.datasources.FileIndex")))
        .and(returns(named(PLAN)));
  }

  @Override
  public String adviceName() {
    return RefuseStalePlanAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RefuseStalePlanAdvice {
    private RefuseStalePlanAdvice() {}

    @Advice.OnMethodEnter
    static void onEnter(@Advice.AllArguments Object[] arguments) {
      UsageTrackingBridge.scanned.accept(arguments[0], arguments[1]);
    }
  }
}
