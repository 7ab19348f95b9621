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
 * Lets an INSERT into a view or a DataFrame's relation remember the table of its analysis, as
 * {@link InsertHook} does for tables.
 *
 * <p>Why here: INSERT INTO a view of a DataFrame writes through this method alone.
 *
 * <p>If it is missing: as without {@link InsertHook}.
 *
 * <p>Source: Delta 4.4.0, DeltaLog.scala, {@code createRelation}, whose relation can be written.
 */
final class ViewInsertHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";

  @Override
  public String typeName() {
    return DELTA + "DeltaLog$$anon$2";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("insert")
        .and(takesArguments(2))
        .and(takesArgument(0, named("org.apache.spark.sql.Dataset")))
        .and(takesArgument(1, boolean.class))
        .and(returns(void.class));
  }

  @Override
  public String adviceName() {
    return RememberTableAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RememberTableAdvice {
    private RememberTableAdvice() {}

    @Advice.OnMethodEnter
    static void onEnter(@Advice.This Object statement) {
      UsageTrackingBridge.statementBegun.accept(statement);
    }

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void onExit() {
      UsageTrackingBridge.statementEnded.run();
    }
  }
}
