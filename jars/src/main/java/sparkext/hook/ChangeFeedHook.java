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
 * Refuses to read changes with a schema in which a column has the name that a dropped one has in
 * the older files.
 *
 * <p>Why here: a batch read of changes compares its schema with each metadata of its range through
 * this method, the first version's last.
 *
 * <p>If it is missing: after leaving, the values of a dropped column come back as those of a later
 * one of its name; Delta tells columns apart by their names in files.
 *
 * <p>Source: Delta 4.4.0, CDCReaderBase.scala, {@code checkBatchCdfReadSchemaIncompatibility};
 * Delta 4.0.1, CDCReader.scala, the same inside of {@code changesToDF}.
 */
final class ChangeFeedHook extends MethodHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String PACKAGE = DELTA + "commands.cdc.";
  private static final String SINCE_4_1 = PACKAGE + "CDCReaderBase";
  private static final String NAME = "checkBatchCdfReadSchemaIncompatibility";

  static final ChangeFeedHook OF_METHOD =
      new ChangeFeedHook(
          SINCE_4_1,
          CheckHistoryAdvice.class,
          named(NAME)
              .and(takesArguments(7))
              .and(takesArgument(0, named(DELTA + "SnapshotDescriptor")))
              .and(takesArgument(1, long.class))
              .and(takesArgument(2, long.class))
              .and(takesArgument(3, boolean.class))
              .and(takesArgument(4, named(DELTA + "actions.Metadata")))
              .and(takesArgument(5, long.class))
              .and(takesArgument(6, boolean.class))
              .and(returns(void.class)));

  /** Of Delta 4.0: Scala appends to its arguments those of the method around it. */
  static final ChangeFeedHook OF_NESTED_METHOD =
      new ChangeFeedHook(
          PACKAGE + "CDCReaderImpl",
          CheckHistoryInNestedAdvice.class,
          named(NAME + "$1")
              .and(takesArguments(7))
              .and(takesArgument(0, named(DELTA + "actions.Metadata")))
              .and(takesArgument(1, long.class))
              .and(takesArgument(2, boolean.class))
              .and(takesArgument(3, boolean.class))
              .and(takesArgument(4, named(DELTA + "SnapshotDescriptor")))
              .and(takesArgument(5, long.class))
              .and(takesArgument(6, long.class))
              .and(returns(void.class)));

  private final String typeName;

  private ChangeFeedHook(
      String typeName, Class<?> advice, ElementMatcher.Junction<MethodDescription> method) {
    super(advice, method);
    this.typeName = typeName;
  }

  @Override
  public boolean isNeededIn(TypePool delta, ClassFileLocator classFiles) {
    return delta.describe(SINCE_4_1).isResolved() == typeName.equals(SINCE_4_1);
  }

  @Override
  public String typeName() {
    return typeName;
  }

  @Override
  public String neighbourName() {
    return typeName + "$CDCVersionDiffInfo";
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

  /** The same for that of Delta 4.0: reader, first and last version, whether to check, metadata. */
  @SuppressWarnings("unused")
  static final class CheckHistoryInNestedAdvice {
    private CheckHistoryInNestedAdvice() {}

    @Advice.OnMethodExit
    static void onExit(@Advice.AllArguments Object[] arguments) {
      UsageTrackingBridge.changesChecked.accept(
          new Object[] {
            arguments[4],
            arguments[5],
            arguments[6],
            arguments[3],
            arguments[0],
            arguments[1],
            arguments[2]
          });
    }
  }
}
