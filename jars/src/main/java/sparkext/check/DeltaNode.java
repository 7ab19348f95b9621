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

/** Detects plans that create, read, write or name a Delta table. */
final class DeltaNode {
  private static final List<String> PACKAGES =
      List.of("org.apache.spark.sql.delta.", "io.delta.sql.");

  private final SessionCatalog catalog;

  /**
   * @param catalog the session catalog, which has the providers of tables
   */
  DeltaNode(SessionCatalog catalog) {
    this.catalog = catalog;
  }

  /**
   * Returns whether a node of the plan creates, reads, writes or names a Delta table. Subqueries
   * and named queries are part of the plan.
   */
  boolean isIn(LogicalPlan plan) {
    return plan.exists(node -> concernsDelta(node) || isInQueriesInside(node));
  }

  private boolean isInQueriesInside(LogicalPlan node) {
    return node.innerChildren().exists(query -> query instanceof LogicalPlan plan && isIn(plan));
  }

  /** Returns whether a node itself concerns a Delta table, without the queries inside the node. */
  private boolean concernsDelta(LogicalPlan node) {
    return hasClassOfDelta(node)
        || node instanceof UnresolvedLeafNode && hasPath(node)
        || node instanceof ResolvedIdentifier found && isDeltaTable(found)
        || CollectionConverters.asJava(node.productIterator().toSeq()).stream()
            .flatMap(DeltaNode::unpacked)
            .anyMatch(this::namesDelta);
  }

  /** Returns the value inside an option, or the element itself if it is no option. */
  private static Stream<?> unpacked(Object element) {
    return element instanceof Option<?> option
        ? CollectionConverters.asJava(option.toList()).stream()
        : Stream.of(element);
  }

  /** Returns whether an unresolved node has a name such as {@code delta.`/path`}. */
  private static boolean hasPath(LogicalPlan unresolved) {
    return unresolved.productArity() > 0
        && unresolved.productElement(0) instanceof Seq<?> name
        && name.size() == 2
        && isDelta(name.head());
  }

  /** Returns whether an element of a node has Delta as provider, or names a Delta table. */
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
      // The target of a write is an element of the node, and not a child.
      return concernsDelta(plan);
    }
    if (element instanceof HadoopFsRelation relation) {
      return hasClassOfDelta(relation.location());
    }
    return hasClassOfDelta(element);
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
    } catch (AnalysisException tableDropped) {
      throw UsageTrackingException.sneakyThrow(tableDropped);
    }
  }

  private static boolean isDelta(Option<?> name) {
    return name.isDefined() && isDelta(name.get());
  }

  /** Returns whether a provider, or the first part of a name, is {@code delta}. */
  private static boolean isDelta(Object name) {
    return name instanceof String provider && DeltaSourceUtils.isDeltaDataSourceName(provider);
  }

  /** Returns whether the class of an element is one of Delta's. */
  private static boolean hasClassOfDelta(Object element) {
    return element != null && PACKAGES.stream().anyMatch(element.getClass().getName()::startsWith);
  }
}
