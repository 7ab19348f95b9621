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
 * Refuses to look for rows by a plan with other names, where they are marked by deletion vectors;
 * {@link ScannedFilesHook} does elsewhere.
 *
 * <p>Why here: UPDATE, DELETE and MERGE look for such rows through this method alone, which puts
 * the files under the plan by itself.
 *
 * <p>If it is missing: a statement that was analysed before names changed deletes wrong rows.
 *
 * <p>Source: Delta 4.4.0, DMLWithDeletionVectorsHelper.scala, {@code
 * createTargetDfForScanningForMatches}.
 */
final class MatchedRowsHook implements DeltaHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.commands.";

  @Override
  public String typeName() {
    return PACKAGE + "DMLWithDeletionVectorsHelper$";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "TouchedFileWithDV";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("createTargetDfForScanningForMatches")
        .and(takesArguments(3))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(takesArgument(1, named("org.apache.spark.sql.catalyst.plans.logical.LogicalPlan")))
        .and(takesArgument(2, named("org.apache.spark.sql.delta.files.TahoeFileIndex")))
        .and(returns(named("org.apache.spark.sql.Dataset")));
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
      UsageTrackingBridge.matched.accept(arguments[1], arguments[2]);
    }
  }
}
