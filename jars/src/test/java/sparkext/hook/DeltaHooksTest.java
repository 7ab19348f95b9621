// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.any;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.MemberRemoval;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The hooks against the class files of the pinned Delta release. */
class DeltaHooksTest {
  private static final ClassFileLocator CLASS_PATH =
      ClassFileLocator.ForClassLoader.of(DeltaHooksTest.class.getClassLoader());

  static List<DeltaHook> hooks() {
    return weaver(CLASS_PATH).needed(DeltaHooks.ALL);
  }

  @Test
  void everyWovenMethodHasAHookInTheList() {
    assertThat(hooks())
        .extracting(DeltaHook::typeName)
        .containsExactly(
            "org.apache.spark.sql.delta.TableFeature$",
            "org.apache.spark.sql.delta.DeltaColumnMapping$",
            "org.apache.spark.sql.delta.DeltaColumnMapping$",
            "org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand",
            "org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand",
            "org.apache.spark.sql.delta.commands.OptimizeExecutor",
            "org.apache.spark.sql.delta.commands.OptimizeExecutor",
            "org.apache.spark.sql.delta.commands.OptimizeExecutor",
            "org.apache.spark.sql.delta.commands.OptimizeExecutor",
            "org.apache.spark.sql.delta.DeltaTableUtils$",
            "org.apache.spark.sql.delta.files.TahoeLogFileIndex",
            "org.apache.spark.sql.delta.commands.DMLWithDeletionVectorsHelper$",
            "org.apache.spark.sql.delta.commands.DeleteCommand",
            "org.apache.spark.sql.delta.commands.UpdateCommand",
            "org.apache.spark.sql.delta.ConflictChecker",
            "org.apache.spark.sql.delta.commands.cdc.CDCReaderBase",
            "org.apache.spark.sql.delta.sources.DeltaSourceBase",
            "org.apache.spark.sql.delta.sources.DeltaSourceBase",
            "org.apache.spark.sql.delta.catalog.WriteIntoDeltaBuilder",
            "org.apache.spark.sql.delta.DeltaLog$$anon$2",
            "org.apache.spark.sql.delta.DeltaDynamicPartitionOverwriteCommand",
            "org.apache.spark.sql.delta.commands.MergeIntoCommand",
            "org.apache.spark.sql.delta.commands.AlterTableDropColumnsDeltaCommand",
            "org.apache.spark.sql.delta.commands.AlterTableChangeColumnDeltaCommand",
            "org.apache.spark.sql.delta.commands.AlterTableReplaceColumnsDeltaCommand",
            "org.apache.spark.sql.delta.DeltaLog");
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void matchesOneMethodOfThePinnedDelta(DeltaHook hook) {
    assertThat(weaver(CLASS_PATH).mismatches(List.of(hook))).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void namesTheMismatchWhereTheMethodIsGone(DeltaHook hook) {
    assertThat(weaver(without(hook, hook.method())).mismatches(List.of(hook)))
        .containsExactly(
            hook.getClass().getSimpleName()
                + " matches 0 methods of "
                + hook.typeName()
                + " by "
                + hook.method());
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void namesTheMismatchWhereTheTypeIsGone(DeltaHook hook) {
    assertThat(weaver(ClassFileLocator.NoOp.INSTANCE).mismatches(List.of(hook)))
        .containsExactly(
            hook.getClass().getSimpleName()
                + " matches 0 methods of "
                + hook.typeName()
                + " by "
                + hook.method());
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void weavesWithoutAddingMembers(DeltaHook hook) {
    byte[] woven = weaver(CLASS_PATH).woven(List.of(hook));

    // Redefinition of a loaded class allows changed bodies only.
    ClassFileLocator wovenOnly = ClassFileLocator.Simple.of(hook.typeName(), woven);
    assertThat(methods(new ClassFileLocator.Compound(wovenOnly, CLASS_PATH), hook))
        .isEqualTo(methods(CLASS_PATH, hook));
  }

  private static List<String> methods(ClassFileLocator classFiles, DeltaHook hook) {
    return TypePool.Default.of(classFiles)
        .describe(hook.typeName())
        .resolve()
        .getDeclaredMethods()
        .filter(any())
        .stream()
        .map(method -> method.toGenericString())
        .sorted()
        .toList();
  }

  private static ClassFileLocator without(
      DeltaHook hook, ElementMatcher<? super MethodDescription> method) {
    byte[] changed =
        new ByteBuddy()
            .decorate(
                TypePool.Default.of(CLASS_PATH).describe(hook.typeName()).resolve(), CLASS_PATH)
            .visit(new MemberRemoval().stripMethods(named(nameOf(hook, method))))
            .make()
            .getBytes();
    return new ClassFileLocator.Compound(
        ClassFileLocator.Simple.of(hook.typeName(), changed), CLASS_PATH);
  }

  private static String nameOf(DeltaHook hook, ElementMatcher<? super MethodDescription> method) {
    return TypePool.Default.of(CLASS_PATH)
        .describe(hook.typeName())
        .resolve()
        .getDeclaredMethods()
        .filter(method)
        .getOnly()
        .getName();
  }

  private static HookWeaver weaver(ClassFileLocator classFiles) {
    return new HookWeaver(classFiles, DeltaHooksTest.class.getClassLoader());
  }
}
