// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructType;
import scala.Enumeration;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;
import sparkext.common.UsageTrackingErrors;
import sparkext.wire.FunctionColumns.Relation;

/**
 * A table function that is analyzed and not yet answered. Its children are the relations of its
 * tables.
 *
 * <p>Check rules, listeners and optimizer rules of other extensions see the relations as those of a
 * SELECT, and may refuse the query before anything is read. {@link ReadTables} reads the tables in
 * the optimizer.
 */
final class ResolvedCall extends LogicalPlan implements MultiInstanceRelation {
  private static final long serialVersionUID = 1L;

  private final String function;
  private final Seq<Attribute> columns;
  private final Seq<LogicalPlan> relations;
  private final transient Answer answer;
  private final boolean seen;

  /**
   * An answer that is read once for all copies of the plan.
   *
   * @param function its name
   */
  private static final class Answer {
    private final String function;
    private final FoundTables tables;
    private List<org.apache.spark.sql.Row> rows;

    Answer(String function, FoundTables tables) {
      this.function = function;
      this.tables = tables;
    }

    /** Returns the rows. Reads again after a failure. */
    synchronized Seq<org.apache.spark.sql.Row> rows() {
      if (rows == null) {
        Relation read = FoundTables.call(function, tables.answer());
        if (!read.schema().equals(tables.columns())) {
          String problem =
              "has the columns " + read.schema().toDDL() + " and not " + tables.columns().toDDL();
          throw UsageTrackingErrors.malformedAnswer(problem, null).sneakyThrow();
        }
        rows = read.rows();
      }
      return CollectionConverters.asScala(rows).toList();
    }
  }

  private ResolvedCall(
      String function,
      Seq<Attribute> columns,
      Seq<LogicalPlan> relations,
      Answer answer,
      boolean seen) {
    this.function = function;
    this.columns = columns;
    this.relations = relations;
    this.answer = answer;
    this.seen = seen;
  }

  /** Makes the plan of a table function. */
  static LogicalPlan of(String function, FoundTables tables) {
    return new ResolvedCall(
        function,
        attributes(tables.columns()),
        CollectionConverters.asScala(tables.relations()).toList(),
        new Answer(function, tables),
        /* seen= */ false);
  }

  /** Makes the plan of rows. */
  static LogicalPlan given(Relation rows) {
    return LocalRelation$.MODULE$.fromExternalRows(
        attributes(rows.schema()), CollectionConverters.asScala(rows.rows()).toList());
  }

  private static Seq<Attribute> attributes(StructType schema) {
    List<Attribute> attributes =
        List.copyOf(CollectionConverters.asJava(DataTypeUtils.toAttributes(schema)));
    return CollectionConverters.asScala(attributes).toList();
  }

  /** Adds {@link ReadTables} to a session. */
  static void inject(SparkSessionExtensions extensions) {
    extensions.injectOptimizerRule(session -> new ReadTables());
  }

  @Override
  public Seq<Attribute> output() {
    return columns;
  }

  @Override
  public Seq<LogicalPlan> children() {
    return relations;
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> relations) {
    return new ResolvedCall(function, columns, relations.toList(), answer, seen);
  }

  /** Spark's implementation needs a constructor that takes the product's elements. */
  @Override
  public LogicalPlan clone() {
    List<LogicalPlan> copies = new ArrayList<>();
    CollectionConverters.asJava(relations).forEach(relation -> copies.add(relation.clone()));
    LogicalPlan copy =
        new ResolvedCall(
            function, columns, CollectionConverters.asScala(copies).toList(), answer, seen);
    copy.copyTagsFrom(this);
    if (analyzed()) {
      copy.setAnalyzed();
    }
    return copy;
  }

  /** The sides of a self-join need different columns. */
  @Override
  public LogicalPlan newInstance() {
    List<Attribute> renewed = new ArrayList<>();
    CollectionConverters.asJava(columns).forEach(column -> renewed.add(column.newInstance()));
    return new ResolvedCall(
        function, CollectionConverters.asScala(renewed).toList(), relations, answer, seen);
  }

  /** Refers to every column, so that no relation is pruned before other rules have seen it. */
  @Override
  public AttributeSet references() {
    return inputSet();
  }

  /** The function does not have the hidden columns of the relations. */
  @Override
  public Seq<Attribute> metadataOutput() {
    return CollectionConverters.asScala(List.<Attribute>of()).toList();
  }

  /** Does not read the size of a relation, which would list its files. */
  @Override
  public Statistics stats() {
    return LocalRelation$.MODULE$.apply(columns).stats();
  }

  /** Returns the pattern of the plan that replaces this plan. */
  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return CollectionConverters.asScala(List.of(TreePattern$.MODULE$.LOCAL_RELATION())).toList();
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int place) {
    return function;
  }

  /** Shows the columns of the function, and nothing of the relations. */
  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + function + columns.mkString("[", ", ", "]");
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof ResolvedCall;
  }

  /**
   * Shows the node without its children. Spark writes the plan into the error of a check rule, and
   * a user who is refused must not see the columns of the relations.
   *
   * <p>Source: Spark 4.0, TreeNode.scala, {@code generateTreeString}.
   */
  @Override
  public void generateTreeString(
      int depth,
      ArrayList<Object> lastChildren,
      Function1<String, BoxedUnit> append,
      boolean verbose,
      String prefix,
      boolean addSuffix,
      int maxFields,
      boolean printNodeId,
      int indent) {
    StringBuilder line = new StringBuilder("   ".repeat(indent));
    for (int level = 0; level < lastChildren.size(); level++) {
      boolean isLast = (boolean) lastChildren.get(level);
      boolean isOwn = level == lastChildren.size() - 1;
      line.append(isOwn ? (isLast ? "+- " : ":- ") : (isLast ? "   " : ":  "));
    }
    append.apply(line.append(prefix).append(simpleString(maxFields)).append("\n").toString());
  }

  /** Overrides the same method of later releases. */
  public void generateTreeString(
      int depth,
      ArrayList<Object> lastChildren,
      Function1<String, BoxedUnit> append,
      boolean verbose,
      String prefix,
      boolean addSuffix,
      int maxFields,
      boolean printNodeId,
      boolean printOutputColumns,
      int indent) {
    generateTreeString(
        depth, lastChildren, append, verbose, prefix, addSuffix, maxFields, printNodeId, indent);
  }

  /** Two calls are never equal: another user must not get the cached rows of a call. */
  @Override
  public boolean equals(Object other) {
    return other instanceof ResolvedCall that
        && answer == that.answer
        && seen == that.seen
        && columns.equals(that.columns)
        && relations.equals(that.relations);
  }

  @Override
  public int hashCode() {
    return Objects.hash(System.identityHashCode(answer), columns);
  }

  /**
   * Replaces the function by its rows.
   *
   * <p>Other extensions authorize by rules of the same batch, in the order of the session's
   * extensions. So this rule reads in the second round only: every rule has seen the relations
   * then, and Delta has not yet listed their files.
   *
   * <p>Source: Spark 4.0 to 4.2, Optimizer.scala, {@code defaultBatches}; Delta 4.4.0,
   * PrepareDeltaScan.scala.
   */
  static final class ReadTables extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.containsPattern(TreePattern$.MODULE$.LOCAL_RELATION())
          ? plan.transformUp(new Replacement())
          : plan;
    }
  }

  private static final class Replacement extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return node instanceof ResolvedCall;
    }

    @Override
    public LogicalPlan apply(LogicalPlan node) {
      ResolvedCall call = (ResolvedCall) node;
      return call.seen
          ? LocalRelation$.MODULE$.fromExternalRows(call.columns, call.answer.rows())
          : new ResolvedCall(
              call.function, call.columns, call.relations, call.answer, /* seen= */ true);
    }
  }
}
