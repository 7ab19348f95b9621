// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * Refuses to read files of a table's newest version by a plan that would look for columns by names
 * that these files have not.
 *
 * <p>Why here: every scan of a Delta table that is planned asks this method for its files, in a
 * transaction and outside of one, and so do aggregates that the log alone answers.
 *
 * <p>If it is missing: what was analysed before names in files changed reads nulls and others'
 * values in a transaction, and from the second DataFrame of a table on.
 *
 * <p>Source: Delta 4.4.0, PrepareDeltaScan.scala, {@code
 * PrepareDeltaScanBase.getDeltaScanGenerator}.
 */
final class ScannedFilesHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String PACKAGE = DELTA + "stats.";

  @Override
  public String typeName() {
    return PACKAGE + "PrepareDeltaScanBase";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "DataSize";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("getDeltaScanGenerator")
        .and(takesArguments(1))
        .and(takesArgument(0, named(DELTA + "files.TahoeLogFileIndex")))
        .and(returns(named(PACKAGE + "DeltaScanGenerator")));
  }

  @Override
  public String adviceName() {
    return RefuseStalePlanAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RefuseStalePlanAdvice {
    private RefuseStalePlanAdvice() {}

    @Advice.OnMethodExit
    static void onExit(
        @Advice.Argument(value = 0, typing = Assigner.Typing.DYNAMIC) Object index,
        @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object generator) {
      UsageTrackingBridge.scanned.accept(index, generator);
    }
  }
}
