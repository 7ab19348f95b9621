// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.MemberRemoval;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.pool.TypePool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the hooks with the class files of the pinned Delta release. */
class DeltaHooksTest {
  private static final ClassFileLocator CLASS_PATH =
      ClassFileLocator.ForClassLoader.of(DeltaHooksTest.class.getClassLoader());

  static List<DeltaHook> hooks() {
    return weaver(CLASS_PATH).needed(DeltaHooks.ALL);
  }

  static List<DeltaHook> hooksWithFields() {
    return hooks().stream().filter(hook -> !hook.fields().isEmpty()).toList();
  }

  @Test
  void everyWovenMethodHasAHookInTheList() {
    assertThat(hooks())
        .extracting(hook -> hook.key().substring("org.apache.spark.sql.delta.".length()))
        .containsExactly(
            "TableFeature$.allSupportedFeaturesMap:After",
            "DeltaColumnMapping$.verifyAndUpdateMetadataChange:After",
            "DeltaColumnMapping$.filterColumnMappingProperties:After",
            "commands.columnmapping.RemoveColumnMappingCommand.run:Instead",
            "commands.columnmapping.RemoveColumnMappingCommand.buildDataFrame:After",
            "commands.OptimizeExecutor.groupFilesIntoBins:Arguments",
            "commands.OptimizeExecutor.groupFilesIntoBins:After",
            "commands.OptimizeExecutor.runOptimizeBinJob:Instead",
            "commands.OptimizeExecutor.runOptimizeBinJob:AtEnd",
            "commands.OptimizeExecutor.commitAndRetry:Arguments",
            "commands.OptimizeExecutor.optimize:AtEnd",
            "DeltaTableUtils$.replaceFileIndex:Before",
            "files.TahoeLogFileIndex.getSnapshot:After",
            "commands.DMLWithDeletionVectorsHelper$.createTargetDfForScanningForMatches:Before",
            "commands.DeleteCommand.performDelete:Before",
            "commands.UpdateCommand.performUpdate:Before",
            "ConflictChecker.areColumnMappingChangesConflictFree:After",
            "commands.cdc.CDCReaderBase.checkBatchCdfReadSchemaIncompatibility:After",
            "sources.DeltaSourceBase.checkReadIncompatibleSchemaChangeOnStreamStartOnce:Before",
            "sources.DeltaSourceBase.checkReadIncompatibleSchemaChanges:Instead",
            "sources.DeltaSourceBase.getFileChangesAndCreateDataFrame:Before",
            "sources.DeltaSourceBase.getFileChangesAndCreateDataFrame:After",
            "sources.DeltaSource.readSnapshotDescriptor:After",
            "sources.DeltaSource.latestOffset:After",
            "catalog.WriteIntoDeltaBuilder.build:After",
            "DeltaLog$$anon$2.insert:Around",
            "DeltaDynamicPartitionOverwriteCommand.run:Around",
            "commands.MergeIntoCommand.runMerge:Around",
            "commands.AlterTableDropColumnsDeltaCommand.run:Around",
            "commands.AlterTableChangeColumnDeltaCommand.run:Around",
            "commands.AlterTableReplaceColumnsDeltaCommand.run:Around",
            "DeltaLog.startTransaction:After");
  }

  @Test
  void everyHookHasADifferentKey() {
    assertThat(DeltaHooks.ALL).extracting(DeltaHook::key).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void hookMatchesOneMethodOfThePinnedDelta(DeltaHook hook) {
    assertThat(weaver(CLASS_PATH).mismatches(List.of(hook))).isEmpty();
    assertThat(
            HookedMethod.methods(TypePool.Default.of(CLASS_PATH), hook.method().typeName())
                .filter(hook.method().matcher()))
        .hasSize(1);
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void mismatchNamesTheMethodWhenTheMethodIsRemoved(DeltaHook hook) {
    assertThat(weaver(withoutMethod(hook)).mismatches(List.of(hook)))
        .containsExactly("the method `" + hook.method() + "` does not exist");
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void mismatchNamesTheMethodWhenTheTypeIsRemoved(DeltaHook hook) {
    assertThat(weaver(ClassFileLocator.NoOp.INSTANCE).mismatches(List.of(hook)))
        .containsExactly("the method `" + hook.method() + "` does not exist");
  }

  @ParameterizedTest
  @MethodSource("hooksWithFields")
  void mismatchNamesTheFieldThatDeltaLacks(DeltaHook hook) {
    assertThat(weaver(CLASS_PATH).mismatches(List.of(hook.withFields("removed"))))
        .containsExactly(
            "the field `removed` of `" + hook.method().typeName() + "` does not exist");
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void weavingAddsNoMembers(DeltaHook hook) {
    String typeName = hook.method().typeName();

    byte[] woven = weaver(CLASS_PATH).woven(List.of(hook));

    // Redefinition of a loaded class allows changed bodies only.
    ClassFileLocator wovenOnly = ClassFileLocator.Simple.of(typeName, woven);
    assertThat(methods(new ClassFileLocator.Compound(wovenOnly, CLASS_PATH), typeName))
        .isEqualTo(methods(CLASS_PATH, typeName));
  }

  private static List<String> methods(ClassFileLocator classFiles, String typeName) {
    return HookedMethod.methods(TypePool.Default.of(classFiles), typeName).stream()
        .map(method -> method.toGenericString())
        .sorted()
        .toList();
  }

  private static ClassFileLocator withoutMethod(DeltaHook hook) {
    String typeName = hook.method().typeName();
    byte[] changed =
        new ByteBuddy()
            .decorate(TypePool.Default.of(CLASS_PATH).describe(typeName).resolve(), CLASS_PATH)
            .visit(new MemberRemoval().stripMethods(named(hook.method().name())))
            .make()
            .getBytes();
    return new ClassFileLocator.Compound(ClassFileLocator.Simple.of(typeName, changed), CLASS_PATH);
  }

  private static HookWeaver weaver(ClassFileLocator classFiles) {
    return new HookWeaver(classFiles, DeltaHooksTest.class.getClassLoader());
  }
}
