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
 * Skips Delta's rewrite of all files where column mapping was switched off without it.
 *
 * <p>Why here: SET and UNSET TBLPROPERTIES and DROP FEATURE all create this command and run it.
 *
 * <p>If it is missing: leaving column mapping rewrites the table, as it does without us.
 *
 * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run}.
 */
final class LeavingHook implements DeltaHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.commands.columnmapping.";

  @Override
  public String typeName() {
    return PACKAGE + "RemoveColumnMappingCommand";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "RemoveColumnMappingCommand$";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("run")
        .and(takesArguments(2))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(takesArgument(1, boolean.class))
        .and(returns(void.class));
  }

  @Override
  public String adviceName() {
    return SkipRewriteAdvice.class.getName();
  }

  /** Inlined into Delta's method: its body is skipped where the bridge says true. */
  @SuppressWarnings("unused")
  static final class SkipRewriteAdvice {
    private SkipRewriteAdvice() {}

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean onEnter(@Advice.This Object command, @Advice.AllArguments Object[] arguments) {
      return UsageTrackingBridge.removed.test(command, arguments);
    }
  }
}
