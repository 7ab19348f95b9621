// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedLeafNode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.delta.sources.DeltaSourceUtils;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import scala.Option;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;

/** Finds the nodes of plans that create, read, write or name a Delta table. */
final class DeltaNode {
  private static final List<String> PACKAGES =
      List.of("org.apache.spark.sql.delta.", "io.delta.sql.");

  private final SessionCatalog catalog;

  /**
   * @param catalog returns the provider of a table that a node names
   */
  DeltaNode(SessionCatalog catalog) {
    this.catalog = catalog;
  }

  /** Returns true if the plan has such a node, also in its subqueries and named queries. */
  boolean isIn(LogicalPlan plan) {
    return plan.exists(node -> concernsDelta(node) || isInQueriesOf(node));
  }

  private boolean isInQueriesOf(LogicalPlan node) {
    return node.innerChildren().exists(query -> query instanceof LogicalPlan plan && isIn(plan));
  }

  private boolean concernsDelta(LogicalPlan node) {
    return isOfDelta(node)
        || node instanceof UnresolvedLeafNode && hasPath(node)
        || node instanceof ResolvedIdentifier found && isDeltaTable(found)
        || CollectionConverters.asJava(node.productIterator().toSeq()).stream()
            .flatMap(DeltaNode::unpacked)
            .anyMatch(this::namesDelta);
  }

  private static Stream<?> unpacked(Object element) {
    return element instanceof Option<?> option
        ? CollectionConverters.asJava(option.toList()).stream()
        : Stream.of(element);
  }

  /** Returns true for a name such as {@code delta.`/path`}. */
  private static boolean hasPath(LogicalPlan unresolved) {
    return unresolved.productArity() > 0
        && unresolved.productElement(0) instanceof Seq<?> name
        && name.size() == 2
        && isDelta(name.head());
  }

  private boolean namesDelta(Object element) {
    if (element instanceof UnresolvedTableSpec spec) {
      return isDelta(spec.provider());
    }
    if (element instanceof TableSpec spec) {
      return isDelta(spec.provider());
    }
    if (element instanceof CatalogTable table) {
      return isDelta(table.provider());
    }
    if (element instanceof V1Table table) {
      return isDelta(table.v1Table().provider());
    }
    if (element instanceof TableIdentifier table) {
      return isDeltaTable(table);
    }
    if (element instanceof DataSource source) {
      return isDelta(source.className());
    }
    if (element instanceof LogicalPlan plan && plan instanceof LeafNode) {
      // The target of a write is not a child of the node.
      return concernsDelta(plan);
    }
    if (element instanceof HadoopFsRelation relation) {
      return isOfDelta(relation.location());
    }
    return isOfDelta(element);
  }

  private boolean isDeltaTable(ResolvedIdentifier found) {
    Identifier table = found.identifier();
    return CatalogV2Util.isSessionCatalog(found.catalog())
        && table.namespace().length == 1
        && isDeltaTable(new TableIdentifier(table.name(), Option.apply(table.namespace()[0])));
  }

  private boolean isDeltaTable(TableIdentifier table) {
    try {
      return isDelta(table.database())
          || catalog.tableExists(table) && isDelta(catalog.getTableMetadata(table).provider());
    } catch (AnalysisException dropped) {
      throw UsageTrackingException.sneakyThrow(dropped);
    }
  }

  private static boolean isDelta(Option<?> name) {
    return name.isDefined() && isDelta(name.get());
  }

  private static boolean isDelta(Object name) {
    return name instanceof String provider && DeltaSourceUtils.isDeltaDataSourceName(provider);
  }

  private static boolean isOfDelta(Object element) {
    return element != null && PACKAGES.stream().anyMatch(element.getClass().getName()::startsWith);
  }
}
