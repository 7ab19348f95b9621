// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * Refuses to list files under a plan with other names, where a session plans without data skipping;
 * {@link ScannedFilesHook} does elsewhere.
 *
 * <p>Why here: Spark then lists a table's files by its index, which takes its snapshot from this
 * method. Delta's own comparison in it knows names in files alone, and has a setting.
 *
 * <p>If it is missing: as without {@link ScannedFilesHook}, under {@code
 * spark.databricks.delta.stats.skipping = false}.
 *
 * <p>Source: Delta 4.4.0, TahoeFileIndex.scala, {@code TahoeLogFileIndex.getSnapshot}.
 */
final class ListedFilesHook implements DeltaHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.files.";

  @Override
  public String typeName() {
    return PACKAGE + "TahoeLogFileIndex";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "DeltaFileListingResult";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("getSnapshot")
        .and(takesArguments(0))
        .and(returns(named("org.apache.spark.sql.delta.Snapshot")));
  }

  @Override
  public String adviceName() {
    return RefuseStalePlanAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RefuseStalePlanAdvice {
    private RefuseStalePlanAdvice() {}

    @Advice.OnMethodExit
    static void onExit(
        @Advice.This Object index,
        @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object snapshot) {
      UsageTrackingBridge.listed.accept(index, snapshot);
    }
  }
}
