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
 * Refuses to stream from a table with a schema in which a column has the name that another one has
 * in the files of other versions.
 *
 * <p>Why here: a stream reads all versions with the schema of its start. It compares that with the
 * schema of the first version once, before it reads a file, and with each later metadata, by names
 * in files, which RESTORE may have given to columns of another version.
 *
 * <p>If it is missing: a stream from an early version shows the values of a dropped column as those
 * of a later one of its name; one that runs goes on after such a RESTORE, and does so too.
 *
 * <p>Source: Delta 4.4.0, DeltaSource.scala.
 */
final class StreamHook extends MethodHook {
  static final StreamHook AT_START =
      new StreamHook(
          named("checkReadIncompatibleSchemaChangeOnStreamStartOnce")
              .and(takesArguments(2))
              .and(takesArgument(0, long.class))
              .and(takesArgument(1, named("scala.Option")))
              .and(returns(void.class)));

  static final StreamHook AT_CHANGE =
      new StreamHook(
          named("checkReadIncompatibleSchemaChanges")
              .and(takesArguments(5))
              .and(takesArgument(0, named("org.apache.spark.sql.delta.actions.Metadata")))
              .and(takesArgument(1, long.class))
              .and(takesArgument(2, long.class))
              .and(takesArgument(3, named("scala.Option")))
              .and(takesArgument(4, boolean.class))
              .and(returns(void.class)));

  private static final String PACKAGE = "org.apache.spark.sql.delta.sources.";

  private StreamHook(ElementMatcher.Junction<MethodDescription> method) {
    super(CheckHistoryAdvice.class, method);
  }

  @Override
  public String typeName() {
    return PACKAGE + "DeltaSourceBase";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "DeltaSourceOffset";
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
