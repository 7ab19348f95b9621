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
 * Refuses a statement whose columns have become others since its analysis, by the table that it
 * remembers.
 *
 * <p>Why here: only the transaction knows the version that it writes to, and Delta's conflict
 * checks begin with it.
 *
 * <p>If it is missing: as without {@link InsertHook}.
 *
 * <p>Source: Delta 4.4.0, DeltaLog.scala, {@code startTransaction}.
 */
final class TransactionStartHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";

  @Override
  public String typeName() {
    return DELTA + "DeltaLog";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("startTransaction")
        .and(takesArguments(2))
        .and(takesArgument(0, named("scala.Option")))
        .and(takesArgument(1, named("scala.Option")))
        .and(returns(named(DELTA + "OptimisticTransaction")));
  }

  @Override
  public String adviceName() {
    return RefuseStaleStatementAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RefuseStaleStatementAdvice {
    private RefuseStaleStatementAdvice() {}

    @Advice.OnMethodExit
    static void onExit(
        @Advice.This Object log,
        @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object transaction) {
      UsageTrackingBridge.started.accept(log, transaction);
    }
  }
}
