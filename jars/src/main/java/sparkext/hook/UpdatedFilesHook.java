// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * Refuses an UPDATE that was analysed when its columns had other names.
 *
 * <p>Why here: by the statistics in the log an UPDATE may find no file to look into.
 *
 * <p>If it is missing: after two columns changed names, a DeltaTable of before misses its rows.
 *
 * <p>Source: Delta 4.4.0, UpdateCommand.scala, {@code performUpdate}.
 */
final class UpdatedFilesHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String PACKAGE = DELTA + "commands.";

  @Override
  public String typeName() {
    return PACKAGE + "UpdateCommand";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "TouchedFileWithDV";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("performUpdate")
        .and(takesArguments(3))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(takesArgument(1, named(DELTA + "DeltaLog")))
        .and(takesArgument(2, named(DELTA + "OptimisticTransaction")))
        .and(returns(void.class));
  }

  @Override
  public String adviceName() {
    return DeletedFilesHook.RefuseStalePlanAdvice.class.getName();
  }
}
