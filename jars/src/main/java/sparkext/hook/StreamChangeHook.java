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
 * As {@link StreamStartHook}, for a stream that runs.
 *
 * <p>Why here: a stream compares each later metadata with that of its start, by names in files,
 * which RESTORE may have given to columns of another version.
 *
 * <p>If it is missing: after such a RESTORE it goes on, and shows the values of a column as those
 * of another one of its name.
 *
 * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code checkReadIncompatibleSchemaChanges}.
 */
final class StreamChangeHook implements DeltaHook {
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
    return named("checkReadIncompatibleSchemaChanges")
        .and(takesArguments(5))
        .and(takesArgument(0, named("org.apache.spark.sql.delta.actions.Metadata")))
        .and(takesArgument(1, long.class))
        .and(takesArgument(2, long.class))
        .and(takesArgument(3, named("scala.Option")))
        .and(takesArgument(4, boolean.class))
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
      UsageTrackingBridge.streamChanged.accept(source, arguments);
    }
  }
}
