// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Predicate;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import scala.collection.immutable.Seq;
import sparkext.error.UsageTrackingErrors;
import sparkext.feature.FeatureTraces;
import sparkext.release.SparkCalls;
import sparkext.release.Versions;

/**
 * Refuses a command that would call what this Spark does not have, before it writes anything.
 *
 * <p>Why here: REORG TABLE has chosen its files, and looks into them next; its UPGRADE UNIFORM does
 * not. DROP FEATURE comes to the same, but unsets the feature's property in a commit before, so it
 * is asked as it begins. CONVERT TO DELTA and CLONE of Parquet files come to the last. All are in
 * the driver. Of a table without files all goes on: no task runs then. Who adds its first file
 * between that look and Delta's has DROP FEATURE refused as REORG TABLE is, the property unset.
 *
 * <p>If it is missing: the command ends with a NoSuchMethodError in a task.
 *
 * <p>Source: Delta 4.0.0, DeltaReorgTableCommand.scala, {@code filterFilesToReorg};
 * PreDowngradeTableFeatureCommand.scala, {@code removeFeatureTracesIfNeeded}; ConvertUtils.scala,
 * {@code getParquetTable}.
 */
final class UnlinkedCommandHook extends MethodHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String COMMANDS = DELTA + "commands.";
  private static final String SEQ = "scala.collection.immutable.Seq";

  static final UnlinkedCommandHook PURGE =
      ofReorg("REORG TABLE .. APPLY (PURGE)", "DeltaPurgeOperation");
  static final UnlinkedCommandHook REWRITE =
      ofReorg("the REORG TABLE of DROP FEATURE typeWidening", "DeltaRewriteTypeWideningOperation");
  static final UnlinkedCommandHook DROP_VECTORS =
      ofDowngrade(
          "DROP FEATURE deletionVectors",
          "DeletionVectorsPreDowngradeCommand",
          FeatureTraces::areVectorsSought);
  static final UnlinkedCommandHook DROP_WIDENING =
      ofDowngrade(
          "DROP FEATURE typeWidening",
          "TypeWideningPreDowngradeCommand",
          FeatureTraces::areWideningsSought);
  static final UnlinkedCommandHook PARQUET =
      new UnlinkedCommandHook(
          RefuseArgumentsAdvice.class,
          named("getParquetTable").and(takesArguments(4)),
          "CONVERT TO DELTA or CLONE of Parquet files",
          COMMANDS + "convert.ConvertUtilsBase",
          COMMANDS + "convert.ParquetSchemaFetchConfig",
          COMMANDS + "convert.ManualListingFileManifest",
          arguments -> true);
  static final List<UnlinkedCommandHook> ALL =
      List.of(PURGE, REWRITE, DROP_VECTORS, DROP_WIDENING, PARQUET);

  private final String statement;
  private final String type;
  private final String neighbour;
  private final String caller;
  private final Predicate<Object[]> comesToIt;

  /**
   * The hook of one method.
   *
   * @param caller the class of Delta that calls Spark after it
   * @param comesToIt whether it does, of what the advice gives
   */
  private UnlinkedCommandHook(
      Class<?> advice,
      ElementMatcher.Junction<MethodDescription> method,
      String statement,
      String type,
      String neighbour,
      String caller,
      Predicate<Object[]> comesToIt) {
    super(advice, method);
    this.statement = statement;
    this.type = type;
    this.neighbour = neighbour;
    this.caller = caller;
    this.comesToIt = comesToIt;
  }

  private static UnlinkedCommandHook ofReorg(String statement, String operation) {
    return new UnlinkedCommandHook(
        RefuseArgumentsAdvice.class,
        named("filterFilesToReorg")
            .and(takesArguments(3))
            .and(takesArgument(2, named(SEQ)))
            .and(returns(named(SEQ))),
        statement,
        COMMANDS + operation,
        COMMANDS + "TouchedFileWithDV",
        SparkCalls.REORG_HELPER,
        arguments -> !((Seq<?>) arguments[2]).isEmpty());
  }

  private static UnlinkedCommandHook ofDowngrade(
      String statement, String command, Predicate<Object> comesToIt) {
    return new UnlinkedCommandHook(
        RefuseCommandAdvice.class,
        // Returns a boolean before 4.1, and a type of Delta's since.
        named("removeFeatureTracesIfNeeded")
            .and(takesArguments(1))
            .and(takesArgument(0, named("org.apache.spark.sql.SparkSession"))),
        statement,
        DELTA + command,
        NEIGHBOUR,
        SparkCalls.REORG_HELPER,
        commands -> comesToIt.test(commands[0]));
  }

  /**
   * Refuses the statement that comes to a method of this type.
   *
   * @param of its arguments, or the command that it is of
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_COMMAND
   */
  static void refuse(Object typeName, Object[] of, ClassFileLocator classFiles) {
    for (UnlinkedCommandHook hook : ALL) {
      if (hook.type.equals(typeName) && hook.comesToIt.test(of)) {
        throw UsageTrackingErrors.unsupportedCommand(
                hook.statement, hook.missing(classFiles).get(0), Versions.spark(), Versions.delta())
            .sneakyThrow();
      }
    }
  }

  @Override
  public String typeName() {
    return type;
  }

  @Override
  public String neighbourName() {
    return neighbour;
  }

  @Override
  public boolean isNeededIn(TypePool types, ClassFileLocator classFiles) {
    return !missing(classFiles).isEmpty();
  }

  private List<String> missing(ClassFileLocator classFiles) {
    try {
      return SparkCalls.missing(caller, classFiles);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RefuseArgumentsAdvice {
    private RefuseArgumentsAdvice() {}

    @Advice.OnMethodEnter
    static void onEnter(@Advice.Origin("#t") String type, @Advice.AllArguments Object[] arguments) {
      UsageTrackingBridge.unlinked.accept(type, arguments);
    }
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RefuseCommandAdvice {
    private RefuseCommandAdvice() {}

    @Advice.OnMethodEnter
    static void onEnter(@Advice.Origin("#t") String type, @Advice.This Object command) {
      UsageTrackingBridge.unlinked.accept(type, new Object[] {command});
    }
  }
}
