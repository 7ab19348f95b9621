// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.PartialFunction$;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Makes Spark fail for unreadable files. Their rows would be lost in a session that ignores missing
 * or corrupt files.
 *
 * <p>Source: Spark 4.0 to 4.2, FileSourceOptions.scala: the options of a relation come before the
 * settings of the session.
 */
public final class StrictFileRead {
  private static final Map<String, String> OPTIONS =
      Map.of("ignoreCorruptFiles", "false", "ignoreMissingFiles", "false");

  private StrictFileRead() {}

  /**
   * Returns a Dataset whose job fails if a file is missing or cannot be read.
   *
   * @param rows a Dataset of files, as Delta makes it
   */
  public static Dataset<?> of(Object rows) {
    Dataset<?> given = (Dataset<?>) rows;
    LogicalPlan plan =
        ((org.apache.spark.sql.classic.Dataset<?>) given)
            .queryExecution()
            .analyzed()
            .transformDown(PartialFunction$.MODULE$.fromFunction(StrictFileRead::withOptions));
    return Dataset$.MODULE$.ofRows((SparkSession) given.sparkSession(), plan);
  }

  private static LogicalPlan withOptions(LogicalPlan node) {
    if (!(node instanceof LogicalRelation relation
        && relation.relation() instanceof HadoopFsRelation files)) {
      return node;
    }
    Map<String, String> options = new HashMap<>(CollectionConverters.asJava(files.options()));
    // Options have any letter case: an existing key in another case would be a second key.
    options.keySet().removeIf(key -> OPTIONS.keySet().stream().anyMatch(key::equalsIgnoreCase));
    options.putAll(OPTIONS);
    return relation.copy(
        files.copy(
            files.location(),
            files.partitionSchema(),
            files.dataSchema(),
            files.bucketSpec(),
            files.fileFormat(),
            Map$.MODULE$.from(CollectionConverters.asScala(options)),
            files.sparkSession()),
        relation.output(),
        relation.catalogTable(),
        relation.isStreaming(),
        relation.stream());
  }
}
