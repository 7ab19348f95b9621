// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.DeltaOperationMetrics$;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.error.UsageTrackingException;
import sparkext.rule.MetadataRules;

/**
 * Delta's removal of column mapping without its rewrite: one commit of metadata, no file touched.
 *
 * <p>Whether that may be is decided by {@code spark_ext/leave/removal.py}. The transaction
 * conflicts with every concurrent change of metadata, and a writer that raced with it fails as it
 * would after Delta's own removal.
 *
 * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run}.
 */
public final class MetadataOnlyRemoval {
  private MetadataOnlyRemoval() {}

  /**
   * Removes column mapping in one commit of metadata where that is allowed.
   *
   * @param removal a {@code RemoveColumnMappingCommand}
   * @param arguments those of its {@code run}
   * @return whether it was committed; if not, nothing was written and Delta's rewrite has to do it
   * @throws UsageTrackingException a failure of the rules; the statement fails with it
   */
  public static boolean commitIfFree(Object removal, Object[] arguments) {
    RemoveColumnMappingCommand command = (RemoveColumnMappingCommand) removal;
    SparkSession session = (SparkSession) arguments[0];
    OptimisticTransaction transaction =
        command.deltaLog().startTransaction(command.catalogOpt(), Option.empty());
    if (!MetadataRules.isRemovalFree(transaction.protocol(), transaction.metadata())) {
      return false;
    }
    StructType schema =
        DeltaColumnMapping$.MODULE$.dropColumnMappingMetadata(transaction.metadata().schema());
    command.verifySchemaFieldNames(schema);
    command.updateMetadata((boolean) arguments[1], transaction, schema);
    transaction.registerSQLMetrics(session, nothingRewritten(session.sparkContext()));
    transaction.commit(
        CollectionConverters.asScala(List.<Action>of()).toList(),
        new DeltaOperations.RemoveColumnMapping(Option.empty()),
        RowTracking$.MODULE$.addPreservedRowTrackingTagIfNotSet(
            transaction.snapshot(), scala.collection.immutable.Map$.MODULE$.empty()));
    return true;
  }

  private static scala.collection.immutable.Map<String, SQLMetric> nothingRewritten(
      SparkContext context) {
    Map<String, SQLMetric> metrics = new LinkedHashMap<>();
    CollectionConverters.asJava(DeltaOperationMetrics$.MODULE$.REMOVE_COLUMN_MAPPING())
        .forEach(name -> metrics.put(name, SQLMetrics.createMetric(context, name)));
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(metrics));
  }
}
