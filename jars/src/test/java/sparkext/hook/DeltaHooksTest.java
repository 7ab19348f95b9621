// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import sparkext.release.Hiding;

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
  void neededHooksAreTheseInOrder() {
    assertThat(hooks())
        .extracting(hook -> hook.key().substring("org.apache.spark.sql.delta.".length()))
        .containsExactly(
            "TableFeature$.allSupportedFeaturesMap:After",
            "DeltaColumnMapping$.verifyAndUpdateMetadataChange:After",
            "DeltaColumnMapping$.filterColumnMappingProperties:After",
            "commands.RestoreTableCommand.run:Around",
            "commands.CloneTableCommand.handleClone:Around",
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
  void mismatchNamesTheMethodWhenTheMethodIsRemoved(DeltaHook hook) {
    ClassFileLocator changed =
        Hiding.method(CLASS_PATH, hook.method().typeName(), hook.method().name());

    assertThat(weaver(changed).mismatches(List.of(hook)))
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

  private static HookWeaver weaver(ClassFileLocator classFiles) {
    return new HookWeaver(classFiles, DeltaHooksTest.class.getClassLoader());
  }
}
