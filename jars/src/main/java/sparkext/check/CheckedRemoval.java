// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SetTableProperties;
import org.apache.spark.sql.delta.ClusteringTableFeature$;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.DeltaConfigs$;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.TableFeature;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.TableFeatureProtocolUtils$;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.apache.spark.sql.delta.coordinatedcommits.CatalogOwnedTableUtils$;
import org.apache.spark.sql.delta.coordinatedcommits.CoordinatedCommitsUtils$;
import org.apache.spark.sql.delta.skipping.clustering.ClusteredTableUtils$;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.JobNames;
import sparkext.common.UsageTrackingException;
import sparkext.delta.ChangedMetadata;
import sparkext.delta.UsageTrackingFeature;

/**
 * Refuses a statement that removes column mapping from a tracked table and sets other properties
 * that Delta refuses.
 *
 * <p>Delta commits such a statement in two steps, and removes column mapping first. An error in the
 * other properties would show after the removal. So both steps run here in a transaction that is
 * never committed.
 *
 * <p>Source: Delta 4.4.0, alterDeltaTableCommands.scala, {@code
 * AlterTableSetPropertiesDeltaCommand.run}.
 */
final class CheckedRemoval {
  private static final String MODE = "delta.columnMapping.mode";
  private static final TableFeature CLUSTERING = ClusteringTableFeature$.MODULE$;

  private CheckedRemoval() {}

  /** Throws the error that Delta would throw after it removed column mapping. */
  static void refuse(LogicalPlan plan) {
    if (plan instanceof SetTableProperties set
        && set.table() instanceof ResolvedTable found
        && found.table() instanceof DeltaTableV2 table) {
      Map<String, String> properties = normalized(set.properties());
      if (properties.size() > 1 && properties.get(MODE).contains("none")) {
        JobNames.ofStatement(
            table.spark().sparkContext(),
            () -> {
              refuse(table, properties);
              return null;
            });
      }
    }
  }

  /** Returns an empty map if Delta refuses a property itself, before it removes column mapping. */
  private static Map<String, String> normalized(Map<String, String> properties) {
    try {
      return DeltaConfigs$.MODULE$.validateConfigurations(properties);
    } catch (Exception refusedByDelta) {
      return Map$.MODULE$.empty();
    }
  }

  private static void refuse(DeltaTableV2 table, Map<String, String> properties) {
    OptimisticTransaction draft =
        table.deltaLog().startTransaction(table.catalogTable(), Option.empty());
    if (!UsageTrackingFeature.isSupportedBy(draft.protocol())) {
      return;
    }
    properties.keysIterator().foreach(CheckedRemoval::refuseKey);
    CoordinatedCommitsUtils$.MODULE$.validateConfigurationsForAlterTableSetPropertiesDeltaCommand(
        draft.metadata().configuration(), properties);
    CatalogOwnedTableUtils$.MODULE$.validatePropertiesForAlterTableSetPropertiesDeltaCommand(
        draft.snapshot(), properties);
    RemoveColumnMappingCommand command =
        new RemoveColumnMappingCommand(table.deltaLog(), table.catalogTable());
    Metadata old = draft.metadata();
    StructType schema = DeltaColumnMapping$.MODULE$.dropColumnMappingMetadata(old.schema());
    command.verifySchemaFieldNames(schema);
    Map<String, String> kept =
        command.getConfigurationWithoutColumnMapping(
            draft, /* removeColumnMappingTableProperty= */ false);
    java.util.Map<String, String> configuration =
        new LinkedHashMap<>(CollectionConverters.asJava(kept));
    configuration.putAll(CollectionConverters.asJava(properties));
    draft.updateMetadata(
        ChangedMetadata.of(
            old, schema.json(), Map$.MODULE$.from(CollectionConverters.asScala(configuration))),
        /* ignoreDefaultProperties= */ false);
    draft.prepareCommit(
        CollectionConverters.asScala(List.<Action>of()).toList(),
        new DeltaOperations.SetTableProperties(properties));
  }

  /** Throws the error that Delta throws for the key of a property, for any value. */
  private static Object refuseKey(String key) {
    if (key.toLowerCase(Locale.ROOT).startsWith("delta.constraints.")) {
      throw UsageTrackingException.sneakyThrow(DeltaErrors.useAddConstraints());
    }
    if (key.equals(TableFeatureProtocolUtils$.MODULE$.propertyKey(CLUSTERING))) {
      throw UsageTrackingException.sneakyThrow(
          DeltaErrors.alterTableSetClusteringTableFeatureException(CLUSTERING.name()));
    }
    if (key.equals(ClusteredTableUtils$.MODULE$.PROP_CLUSTERING_COLUMNS())) {
      throw UsageTrackingException.sneakyThrow(DeltaErrors.cannotModifyTableProperty(key));
    }
    return null;
  }
}
