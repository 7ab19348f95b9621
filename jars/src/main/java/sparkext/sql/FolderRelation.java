// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The relation of a table that is not opened: it has the table's name and folder, and lists no
 * files.
 */
record FolderRelation(Path folder) implements FileIndex {
  /** Returns the relation under the name of its table. */
  static LogicalPlan of(
      SparkSession session, List<String> name, Path folder, Option<CatalogTable> table) {
    HadoopFsRelation files =
        new HadoopFsRelation(
            new FolderRelation(folder),
            new StructType(),
            new StructType(),
            Option.empty(),
            new ParquetFileFormat(),
            Map$.MODULE$.empty(),
            session);
    return SubqueryAlias$.MODULE$.apply(
        CollectionConverters.asScala(name).toList(),
        LogicalRelation$.MODULE$.apply(
            files, FolderRelation.<AttributeReference>none(), table, false, Option.empty()));
  }

  @Override
  public Seq<Path> rootPaths() {
    return CollectionConverters.asScala(List.of(folder)).toList();
  }

  @Override
  public Seq<PartitionDirectory> listFiles(Seq<Expression> partitions, Seq<Expression> data) {
    return none();
  }

  @Override
  public String[] inputFiles() {
    return new String[0];
  }

  @Override
  public void refresh() {}

  @Override
  public long sizeInBytes() {
    return 0;
  }

  @Override
  public StructType partitionSchema() {
    return new StructType();
  }

  private static <T> Seq<T> none() {
    return CollectionConverters.asScala(List.<T>of()).toList();
  }
}
