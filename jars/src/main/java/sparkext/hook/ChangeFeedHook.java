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
 * Refuses to read changes with a schema in which a column has the name that a dropped one has in
 * the older files.
 *
 * <p>Why here: a batch read of changes compares its schema with each metadata of its range through
 * this method, the first version's last.
 *
 * <p>If it is missing: after leaving, the values of a dropped column come back as those of a later
 * one of its name; Delta tells columns apart by their names in files.
 *
 * <p>Source: Delta 4.4.0, CDCReaderBase.scala, {@code checkBatchCdfReadSchemaIncompatibility}.
 */
final class ChangeFeedHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String PACKAGE = DELTA + "commands.cdc.";

  @Override
  public String typeName() {
    return PACKAGE + "CDCReaderBase";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "CDCReaderBase$CDCVersionDiffInfo";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("checkBatchCdfReadSchemaIncompatibility")
        .and(takesArguments(7))
        .and(takesArgument(0, named(DELTA + "SnapshotDescriptor")))
        .and(takesArgument(1, long.class))
        .and(takesArgument(2, long.class))
        .and(takesArgument(3, boolean.class))
        .and(takesArgument(4, named(DELTA + "actions.Metadata")))
        .and(takesArgument(5, long.class))
        .and(takesArgument(6, boolean.class))
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

    @Advice.OnMethodExit
    static void onExit(@Advice.AllArguments Object[] arguments) {
      UsageTrackingBridge.changesChecked.accept(arguments);
    }
  }
}
