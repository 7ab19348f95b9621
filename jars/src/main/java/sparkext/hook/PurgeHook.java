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
 * Copies files without their dropped columns where REORG TABLE .. APPLY (PURGE) would decode them.
 *
 * <p>Why here: what is found to be purged, its commit beside other writers, and what of it is told
 * and counted stay Delta's, in the one executor of OPTIMIZE and REORG, which DROP FEATURE
 * deletionVectors runs as well.
 *
 * <p>If it is missing: a purge decodes and encodes each file, as it does without us.
 *
 * <p>Source: Delta 4.4.0, OptimizeTableCommand.scala, {@code OptimizeExecutor}.
 */
final class PurgeHook extends MethodHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.commands.";
  private static final String SEQ = "scala.collection.immutable.Seq";
  private static final String TRANSACTION = "org.apache.spark.sql.delta.OptimisticTransaction";

  /** The files are known, and not yet in groups that are written together. */
  static final PurgeHook AT_GROUPS =
      new PurgeHook(
          CopyFilesAdvice.class,
          named("groupFilesIntoBins")
              .and(takesArguments(1))
              .and(takesArgument(0, named(SEQ)))
              .and(returns(named(SEQ))));

  /** A group is written. */
  static final PurgeHook AT_GROUP =
      new PurgeHook(
          SkipRewriteAdvice.class,
          named("runOptimizeBinJob")
              .and(takesArguments(4))
              .and(takesArgument(0, named(TRANSACTION)))
              .and(takesArgument(1, named("scala.collection.immutable.Map")))
              .and(takesArgument(2, named(SEQ)))
              .and(takesArgument(3, long.class))
              .and(returns(named(SEQ))));

  /** All are written. */
  static final PurgeHook AT_COMMIT =
      new PurgeHook(
          CheckTableAdvice.class,
          named("commitAndRetry")
              .and(takesArguments(5))
              .and(takesArgument(0, named(TRANSACTION)))
              .and(takesArgument(4, named("scala.Function1")))
              .and(returns(void.class)));

  static final PurgeHook AT_END =
      new PurgeHook(
          ForgetFilesAdvice.class,
          named("optimize").and(takesArguments(0)).and(returns(named(SEQ))));

  private PurgeHook(Class<?> advice, ElementMatcher.Junction<MethodDescription> method) {
    super(advice, method);
  }

  @Override
  public String typeName() {
    return PACKAGE + "OptimizeExecutor";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "TouchedFileWithDV";
  }

  /** Inlined into Delta's method, which groups what is left to it. */
  @SuppressWarnings("unused")
  static final class CopyFilesAdvice {
    private CopyFilesAdvice() {}

    @Advice.OnMethodEnter
    static Object onEnter(
        @Advice.This Object executor,
        @Advice.FieldValue(value = "sparkSession", typing = Assigner.Typing.DYNAMIC) Object session,
        @Advice.FieldValue(value = "snapshot", typing = Assigner.Typing.DYNAMIC) Object snapshot,
        @Advice.FieldValue(value = "catalogTable", typing = Assigner.Typing.DYNAMIC)
            Object catalogTable,
        @Advice.FieldValue(value = "optimizeContext", typing = Assigner.Typing.DYNAMIC)
            Object context,
        @Advice.Argument(value = 0, readOnly = false, typing = Assigner.Typing.DYNAMIC)
            Object files) {
      Object all = files;
      files =
          UsageTrackingBridge.purgeBegun.apply(
              new Object[] {executor, session, snapshot, catalogTable, context}, files);
      return all;
    }

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Assigner.Typing.DYNAMIC)
    static Object onExit(
        @Advice.This Object executor,
        @Advice.Enter Object files,
        @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object groups) {
      return UsageTrackingBridge.purgeGrouped.apply(new Object[] {executor, files}, groups);
    }
  }

  /** Inlined into Delta's method: its body is skipped where the bridge has the answer. */
  @SuppressWarnings("unused")
  static final class SkipRewriteAdvice {
    private SkipRewriteAdvice() {}

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static Object onEnter(
        @Advice.This Object executor,
        @Advice.Argument(value = 2, typing = Assigner.Typing.DYNAMIC) Object files) {
      return UsageTrackingBridge.purgeWritten.apply(executor, files);
    }

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    @Advice.AssignReturned.ToReturned(typing = Assigner.Typing.DYNAMIC)
    static Object onExit(
        @Advice.This Object executor,
        @Advice.Enter Object actions,
        @Advice.Thrown Throwable failure) {
      if (failure != null) {
        UsageTrackingBridge.purgeFailed.accept(executor);
      }
      return actions;
    }
  }

  /** Inlined into Delta's method, which asks the function before it tries again. */
  @SuppressWarnings("unused")
  static final class CheckTableAdvice {
    private CheckTableAdvice() {}

    @Advice.OnMethodEnter
    static void onEnter(
        @Advice.This Object executor,
        @Advice.Argument(value = 4, readOnly = false, typing = Assigner.Typing.DYNAMIC)
            Object retries) {
      retries = UsageTrackingBridge.purgeCommitted.apply(executor, retries);
    }
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class ForgetFilesAdvice {
    private ForgetFilesAdvice() {}

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void onExit(
        @Advice.This Object executor,
        @Advice.FieldValue(value = "sparkSession", typing = Assigner.Typing.DYNAMIC) Object session,
        @Advice.FieldValue(value = "snapshot", typing = Assigner.Typing.DYNAMIC) Object snapshot,
        @Advice.FieldValue(value = "catalogTable", typing = Assigner.Typing.DYNAMIC)
            Object catalogTable,
        @Advice.FieldValue(value = "optimizeContext", typing = Assigner.Typing.DYNAMIC)
            Object context,
        @Advice.FieldValue(value = "partitionPredicate", typing = Assigner.Typing.DYNAMIC)
            Object predicate,
        @Advice.Thrown Throwable failure) {
      UsageTrackingBridge.purgeEnded.accept(
          new Object[] {executor, session, snapshot, catalogTable, context, predicate}, failure);
    }
  }
}
