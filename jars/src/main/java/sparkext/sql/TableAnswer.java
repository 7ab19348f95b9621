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
import sparkext.error.UsageTrackingErrors;
import sparkext.wire.FunctionColumns;
import sparkext.wire.Relation;

/**
 * A table function that is analyzed and not yet answered, over the relations that it is about.
 *
 * <p>Check rules, listeners and optimizer rules of others find the relations as they find those of
 * a SELECT, and refuse the query before anything is read. {@link Give} reads, in the optimizer.
 */
final class TableAnswer extends LogicalPlan implements MultiInstanceRelation {
  private static final long serialVersionUID = 1L;

  private final String function;
  private final Seq<Attribute> columns;
  private final Seq<LogicalPlan> relations;
  private final transient Answer answer;
  private final boolean seen;

  /**
   * An answer that is read once, whatever becomes of the plan.
   *
   * @param function its name
   * @param schema what it has to have
   */
  private static final class Answer {
    private final String function;
    private final StructType schema;
    private final Asked asked;
    private List<org.apache.spark.sql.Row> rows;

    Answer(String function, StructType schema, Asked asked) {
      this.function = function;
      this.schema = schema;
      this.asked = asked;
    }

    /** Returns the rows. Reads again after a failure. */
    synchronized Seq<org.apache.spark.sql.Row> rows() {
      if (rows == null) {
        Relation read = Asked.call(function, asked.answer());
        if (!read.schema().equals(schema)) {
          throw UsageTrackingErrors.malformedAnswer(
                  "has the columns " + read.schema().toDDL() + " and not " + schema.toDDL(), null)
              .sneakyThrow();
        }
        rows = read.rows();
      }
      return CollectionConverters.asScala(rows).toList();
    }
  }

  private TableAnswer(
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
  static LogicalPlan of(String function, Asked asked) {
    return of(function, FunctionColumns.of(function), asked);
  }

  /** Makes the plan of what has these columns. */
  static LogicalPlan of(String function, StructType schema, Asked asked) {
    return new TableAnswer(
        function,
        attributes(schema),
        CollectionConverters.asScala(asked.relations()).toList(),
        new Answer(function, schema, asked),
        /* seen= */ false);
  }

  /** Makes a plan of rows that are read already. */
  static LogicalPlan given(Relation rows) {
    return LocalRelation$.MODULE$.fromExternalRows(
        attributes(rows.schema()), CollectionConverters.asScala(rows.rows()).toList());
  }

  private static Seq<Attribute> attributes(StructType schema) {
    List<Attribute> attributes =
        List.copyOf(CollectionConverters.asJava(DataTypeUtils.toAttributes(schema)));
    return CollectionConverters.asScala(attributes).toList();
  }

  /** Adds the rule that answers to a session. */
  static void inject(SparkSessionExtensions extensions) {
    extensions.injectOptimizerRule(session -> new Give());
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
    return new TableAnswer(function, columns, relations.toList(), answer, seen);
  }

  /** Spark makes copies by a constructor that takes the product's elements, which this has not. */
  @Override
  public LogicalPlan clone() {
    List<LogicalPlan> copies = new ArrayList<>();
    CollectionConverters.asJava(relations).forEach(relation -> copies.add(relation.clone()));
    LogicalPlan copy =
        new TableAnswer(
            function, columns, CollectionConverters.asScala(copies).toList(), answer, seen);
    copy.copyTagsFrom(this);
    if (analyzed()) {
      copy.setAnalyzed();
    }
    return copy;
  }

  /** Of a self-join, each side has columns of its own. */
  @Override
  public LogicalPlan newInstance() {
    List<Attribute> renewed = new ArrayList<>();
    CollectionConverters.asJava(columns).forEach(column -> renewed.add(column.newInstance()));
    return new TableAnswer(
        function, CollectionConverters.asScala(renewed).toList(), relations, answer, seen);
  }

  /** Every column of the relations: nothing of them is pruned before others have seen it. */
  @Override
  public AttributeSet references() {
    return inputSet();
  }

  /** The hidden columns of the relations are not the function's. */
  @Override
  public Seq<Attribute> metadataOutput() {
    return CollectionConverters.asScala(List.<Attribute>of()).toList();
  }

  /** Asks no relation for its size, which would list its files. */
  @Override
  public Statistics stats() {
    return LocalRelation$.MODULE$.apply(columns).stats();
  }

  /** What it becomes. */
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

  /** What Spark shows in a plan: the columns of the function alone. */
  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + function + columns.mkString("[", ", ", "]");
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof TableAnswer;
  }

  /**
   * Shows the node without its children: Spark puts the plan into the text of an error of a check
   * rule, and who is refused is not to see the columns of the relations.
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

  /** The same in later releases, where this overrides it. */
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

  /** Two calls are never equal: the cached rows of one user's call are not for another user's. */
  @Override
  public boolean equals(Object other) {
    return other instanceof TableAnswer that
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
   * Puts the rows in the place of the function.
   *
   * <p>Others authorize by rules of the same batch, in an order that the session's extensions
   * decide. So the rule reads only in the second round, when every rule has seen the relations, and
   * before the batch in which Delta lists the files of relations.
   *
   * <p>Source: Spark 4.0 to 4.2, Optimizer.scala, {@code defaultBatches}; Delta 4.4.0,
   * PrepareDeltaScan.scala.
   */
  static final class Give extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.containsPattern(TreePattern$.MODULE$.LOCAL_RELATION())
          ? plan.transformUp(new Given())
          : plan;
    }
  }

  private static final class Given extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return node instanceof TableAnswer;
    }

    @Override
    public LogicalPlan apply(LogicalPlan node) {
      TableAnswer asked = (TableAnswer) node;
      return asked.seen
          ? LocalRelation$.MODULE$.fromExternalRows(asked.columns, asked.answer.rows())
          : new TableAnswer(
              asked.function, asked.columns, asked.relations, asked.answer, /* seen= */ true);
    }
  }
}
