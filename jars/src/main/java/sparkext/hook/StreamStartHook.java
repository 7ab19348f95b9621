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
 * As {@link ChangeFeedHook}, for streams from a table.
 *
 * <p>Why here: a stream reads all versions with the schema of its start, and compares it with that
 * of the first version once, before it reads a file.
 *
 * <p>If it is missing: a stream from an early version shows the values of a dropped column as those
 * of a later one of its name.
 *
 * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code
 * checkReadIncompatibleSchemaChangeOnStreamStartOnce}.
 */
final class StreamStartHook implements DeltaHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.sources.";

  @Override
  public String typeName() {
    return PACKAGE + "DeltaSourceBase";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "DeltaSourceOffset";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("checkReadIncompatibleSchemaChangeOnStreamStartOnce")
        .and(takesArguments(2))
        .and(takesArgument(0, long.class))
        .and(takesArgument(1, named("scala.Option")))
        .and(returns(void.class));
  }

  @Override
  public String adviceName() {
    return CheckHistoryAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class CheckHistoryAdvice {
    private CheckHistoryAdvice() {}

    @Advice.OnMethodEnter
    static void onEnter(@Advice.This Object source, @Advice.AllArguments Object[] arguments) {
      UsageTrackingBridge.streamChecked.accept(source, arguments);
    }
  }
}
