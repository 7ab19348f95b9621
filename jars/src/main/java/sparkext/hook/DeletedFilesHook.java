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
 * Refuses a DELETE that was analysed when its columns had other names.
 *
 * <p>Why here: a condition on partition columns deletes whole files, by the partition values in the
 * log, without a look into them, and by the statistics there it may find no file to look into.
 *
 * <p>If it is missing: after two partition columns changed names, a DeltaTable of before deletes
 * the rows of another partition; after two others did, it misses its rows.
 *
 * <p>Source: Delta 4.4.0, DeleteCommand.scala, {@code performDelete}.
 */
final class DeletedFilesHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String PACKAGE = DELTA + "commands.";

  @Override
  public String typeName() {
    return PACKAGE + "DeleteCommand";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "TouchedFileWithDV";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("performDelete")
        .and(takesArguments(3))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(takesArgument(1, named(DELTA + "DeltaLog")))
        .and(takesArgument(2, named(DELTA + "OptimisticTransaction")))
        .and(returns(named("scala.Tuple2")));
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
    static void onEnter(
        @Advice.This Object command,
        @Advice.Argument(value = 2, typing = Assigner.Typing.DYNAMIC) Object transaction) {
      UsageTrackingBridge.searched.accept(command, transaction);
    }
  }
}
