// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * Takes the flag out of a table in the commit that drops the feature, on Delta 4.0.
 *
 * <p>Why here: later releases ask the feature which properties go with it; there the command only
 * gives its transaction the protocol without the feature.
 *
 * <p>If it is missing: the flag stays in a table without the feature, whose writers do not keep it
 * true to what they do.
 *
 * <p>Source: Delta 4.0.1, OptimisticTransaction.scala, {@code updateProtocol}.
 */
final class DowngradeHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";

  @Override
  public boolean isNeededIn(TypePool delta, ClassFileLocator classFiles) {
    return DeltaHook.isOfDelta40(delta);
  }

  @Override
  public String typeName() {
    return DELTA + "OptimisticTransactionImpl";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("updateProtocol")
        .and(takesArguments(1))
        .and(takesArgument(0, named(DELTA + "actions.Protocol")))
        .and(returns(void.class));
  }

  @Override
  public String adviceName() {
    return RemoveFlagAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RemoveFlagAdvice {
    private RemoveFlagAdvice() {}

    @Advice.OnMethodExit
    static void onExit(@Advice.This Object transaction, @Advice.AllArguments Object[] arguments) {
      UsageTrackingBridge.downgraded.accept(transaction, arguments[0]);
    }
  }
}
