// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.pool.TypePool;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import sparkext.error.UsageTrackingErrors;
import sparkext.release.SparkCalls;
import sparkext.release.Versions;

/**
 * Refuses a command that calls what this Spark does not have, before it begins.
 *
 * <p>Why here: REORG TABLE, DROP FEATURE of deletion vectors and CONVERT TO DELTA all come to the
 * {@code run} of these, in the driver.
 *
 * <p>If it is missing: the command ends with a NoSuchMethodError in a task.
 *
 * <p>Source: Delta 4.0.0, DeltaReorgTableCommand.scala and ConvertToDeltaCommand.scala, {@code
 * run}.
 */
final class UnlinkedCommandHook extends CommandHook {
  static final UnlinkedCommandHook REORG =
      new UnlinkedCommandHook("REORG TABLE", "DeltaReorgTableCommand", "ReorgTableHelper");
  static final UnlinkedCommandHook CONVERT =
      new UnlinkedCommandHook(
          "CONVERT TO DELTA", "ConvertToDeltaCommandBase", "convert.ManualListingFileManifest");

  private final String statement;
  private final String caller;

  /**
   * The hook of one command.
   *
   * @param caller the class of Delta that calls Spark for it
   */
  private UnlinkedCommandHook(String statement, String command, String caller) {
    super(command);
    this.statement = statement;
    this.caller = caller;
  }

  /**
   * Refuses the command of this type.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_COMMAND
   */
  static void refuse(Object typeName, ClassFileLocator classFiles) {
    UnlinkedCommandHook hook = typeName.equals(REORG.typeName()) ? REORG : CONVERT;
    throw UsageTrackingErrors.unsupportedCommand(
            hook.statement, hook.missing(classFiles).get(0), Versions.spark(), Versions.delta())
        .sneak();
  }

  @Override
  public boolean isNeededIn(TypePool delta, ClassFileLocator classFiles) {
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
    static void onEnter(@Advice.Origin("#t") String command) {
      UsageTrackingBridge.unlinked.accept(command);
    }
  }
}
