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
 * Skips Delta's rewrite of all files where column mapping was switched off without it; where files
 * are rewritten, by Delta alone or for us, all of their rows are read.
 *
 * <p>Why here: SET and UNSET TBLPROPERTIES and DROP FEATURE all create this command and run it.
 *
 * <p>If it is missing: removing column mapping rewrites the table, as it does without us, and loses
 * the rows that a session passes over.
 *
 * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run} and {@code buildDataFrame}.
 */
final class RemovalHook extends MethodHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.commands.columnmapping.";

  static final RemovalHook AT_START =
      new RemovalHook(
          SkipRewriteAdvice.class,
          named("run")
              .and(takesArguments(2))
              .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
              .and(takesArgument(1, boolean.class))
              .and(returns(void.class)));

  /** What is to be rewritten is known, and not yet read. */
  static final RemovalHook AT_READ =
      new RemovalHook(
          ReadAllAdvice.class,
          named("buildDataFrame")
              .and(takesArguments(2))
              .and(takesArgument(0, named("org.apache.spark.sql.delta.OptimisticTransaction")))
              .and(takesArgument(1, named("scala.collection.immutable.Seq")))
              .and(returns(named("org.apache.spark.sql.Dataset"))));

  private RemovalHook(Class<?> advice, ElementMatcher.Junction<MethodDescription> method) {
    super(advice, method);
  }

  @Override
  public String typeName() {
    return PACKAGE + "RemoveColumnMappingCommand";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "RemoveColumnMappingCommand$";
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

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class ReadAllAdvice {
    private ReadAllAdvice() {}

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Assigner.Typing.DYNAMIC)
    static Object onExit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object rows) {
      return UsageTrackingBridge.rewrittenRead.apply(rows);
    }
  }
}
