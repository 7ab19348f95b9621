// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import sparkext.error.UsageTrackingErrors;
import sparkext.release.SparkCalls;
import sparkext.release.Versions;

/**
 * Refuses a command that calls what this Spark does not have, before it begins.
 *
 * <p>Why here: REORG TABLE and DROP FEATURE of deletion vectors or type widening come to the {@code
 * run} of the first, CONVERT TO DELTA and CLONE of Parquet files to the second, in the driver and
 * before a file is written. DROP FEATURE has unset the feature's property in a commit by then.
 *
 * <p>If it is missing: the command ends with a NoSuchMethodError in a task.
 *
 * <p>Source: Delta 4.0.0, DeltaReorgTableCommand.scala, {@code run}, and ConvertUtils.scala, {@code
 * getParquetTable}.
 */
final class UnlinkedCommandHook implements DeltaHook {
  static final UnlinkedCommandHook REORG =
      new UnlinkedCommandHook(
          "REORG TABLE, or DROP FEATURE by it",
          "DeltaReorgTableCommand",
          "TouchedFileWithDV",
          DeltaHook.ofCommand("run"),
          "ReorgTableHelper");
  static final UnlinkedCommandHook PARQUET =
      new UnlinkedCommandHook(
          "CONVERT TO DELTA or CLONE of Parquet files",
          "convert.ConvertUtilsBase",
          "convert.ParquetSchemaFetchConfig",
          named("getParquetTable").and(takesArguments(4)),
          "convert.ManualListingFileManifest");

  private static final String PACKAGE = "org.apache.spark.sql.delta.commands.";

  private final String statement;
  private final String type;
  private final String neighbour;
  private final ElementMatcher.Junction<MethodDescription> method;
  private final String caller;

  /**
   * The hook of one method.
   *
   * @param caller the class of Delta that calls Spark after it
   */
  private UnlinkedCommandHook(
      String statement,
      String type,
      String neighbour,
      ElementMatcher.Junction<MethodDescription> method,
      String caller) {
    this.statement = statement;
    this.type = type;
    this.neighbour = neighbour;
    this.method = method;
    this.caller = caller;
  }

  /**
   * Refuses the statements that come to a method of this type.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_COMMAND
   */
  static void refuse(Object typeName, ClassFileLocator classFiles) {
    UnlinkedCommandHook hook = typeName.equals(REORG.typeName()) ? REORG : PARQUET;
    throw UsageTrackingErrors.unsupportedCommand(
            hook.statement, hook.missing(classFiles).get(0), Versions.spark(), Versions.delta())
        .sneak();
  }

  @Override
  public String typeName() {
    return PACKAGE + type;
  }

  @Override
  public String neighbourName() {
    return PACKAGE + neighbour;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return method;
  }

  @Override
  public boolean isNeededIn(TypePool types, ClassFileLocator classFiles) {
    return !missing(classFiles).isEmpty();
  }

  private List<String> missing(ClassFileLocator classFiles) {
    try {
      return SparkCalls.missing(PACKAGE + caller, classFiles);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  @Override
  public String adviceName() {
    return RefuseAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RefuseAdvice {
    private RefuseAdvice() {}

    @Advice.OnMethodEnter
    static void onEnter(@Advice.Origin("#t") String type) {
      UsageTrackingBridge.unlinked.accept(type);
    }
  }
}
