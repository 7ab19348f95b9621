// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedException;
import org.apache.spark.sql.catalyst.analysis.package$;
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
import scala.PartialFunction$;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;
import sparkext.common.UsageTrackingException;

/**
 * A call of a table function, until its rows replace it in the optimizer.
 *
 * <p>Spark 4.0 and 4.1 look up a function, and make its plan, under the lock of the session's
 * catalog. Every other query waits for that lock, so {@link FindTables} finds the tables later.
 * Then the children of the plan are the relations of the tables. Check rules, listeners and
 * optimizer rules of other extensions see the relations as those of a SELECT, and may refuse the
 * query before anything is read. {@link ReadTables} reads the tables.
 *
 * <p>Source: Spark 4.1, SessionCatalog.scala, {@code resolveBuiltinOrTempFunctionInternal}.
 */
final class TableFunctionCall extends LogicalPlan implements MultiInstanceRelation {
  private static final long serialVersionUID = 1L;

  private final transient Answer answer;

  /** Null until the tables are found. */
  private final Seq<Attribute> columns;

  private final Seq<LogicalPlan> relations;

  /** Whether the optimizer rules of all extensions have seen the relations. */
  private final boolean seen;

  /** The function, its tables and its rows, which all copies of the plan use. */
  private static final class Answer {
    private final String function;
    private final Callable<FoundTables> question;
    private FoundTables tables;
    private List<Row> rows;

    Answer(String function, Callable<FoundTables> question) {
      this.function = function;
      this.question = question;
    }

    /** Returns the tables. Finds them again after a failure. */
    synchronized FoundTables tables() {
      if (tables == null) {
        tables = FoundTables.call(function, question);
      }
      return tables;
    }

    /** Returns the rows. Reads again after a failure. */
    synchronized Seq<Row> rows() {
      if (rows == null) {
        rows = FoundTables.call(function, tables().answer());
      }
      return seq(rows);
    }
  }

  private TableFunctionCall(
      Answer answer, Seq<Attribute> columns, Seq<LogicalPlan> relations, boolean seen) {
    this.answer = answer;
    this.columns = columns;
    this.relations = relations;
    this.seen = seen;
  }

  /**
   * Makes the plan of a call.
   *
   * @param question finds the tables
   */
  static TableFunctionCall of(String function, Callable<FoundTables> question) {
    return new TableFunctionCall(
        new Answer(function, question), /* columns= */ null, seq(List.of()), /* seen= */ false);
  }

  /** Returns the plan with the relations of its tables. */
  TableFunctionCall found() {
    FoundTables tables = answer.tables();
    return new TableFunctionCall(
        answer, attributes(tables.columns()), seq(tables.relations()), /* seen= */ false);
  }

  /** Makes the plan of rows. */
  static LogicalPlan given(StructType columns, List<Row> rows) {
    return LocalRelation$.MODULE$.fromExternalRows(attributes(columns), seq(rows));
  }

  private static Seq<Attribute> attributes(StructType schema) {
    return seq(List.copyOf(CollectionConverters.asJava(DataTypeUtils.toAttributes(schema))));
  }

  private static <T> Seq<T> seq(List<T> elements) {
    return CollectionConverters.asScala(elements).toList();
  }

  /** Adds the rules that find and read the tables to a session. */
  static void inject(SparkSessionExtensions extensions) {
    extensions.injectResolutionRule(session -> new FindTables());
    extensions.injectOptimizerRule(session -> new ReadTables());
  }

  @Override
  public boolean resolved() {
    return columns != null && childrenResolved();
  }

  @Override
  public Seq<Attribute> output() {
    if (columns == null) {
      throw UsageTrackingException.sneakyThrow(new UnresolvedException("output"));
    }
    return columns;
  }

  @Override
  public Seq<LogicalPlan> children() {
    return relations;
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> relations) {
    return new TableFunctionCall(answer, columns, relations.toList(), seen);
  }

  /** Spark's implementation needs a constructor that takes the product's elements. */
  @Override
  public LogicalPlan clone() {
    List<LogicalPlan> copies =
        CollectionConverters.asJava(relations).stream().map(LogicalPlan::clone).toList();
    LogicalPlan copy = new TableFunctionCall(answer, columns, seq(copies), seen);
    copy.copyTagsFrom(this);
    if (analyzed()) {
      copy.setAnalyzed();
    }
    return copy;
  }

  /** The sides of a self-join need different columns. */
  @Override
  public LogicalPlan newInstance() {
    List<Attribute> renewed =
        CollectionConverters.asJava(columns).stream().map(Attribute::newInstance).toList();
    return new TableFunctionCall(answer, seq(renewed), relations, seen);
  }

  /** Refers to every column, so that no relation is pruned before other rules have seen it. */
  @Override
  public AttributeSet references() {
    return inputSet();
  }

  /** The function does not have the hidden columns of the relations. */
  @Override
  public Seq<Attribute> metadataOutput() {
    return seq(List.of());
  }

  /** Does not read the size of a relation, which would list its files. */
  @Override
  public Statistics stats() {
    return LocalRelation$.MODULE$.apply(columns).stats();
  }

  /** Returns the pattern of the plan that this plan replaces or that replaces this plan. */
  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return seq(
        List.of(
            columns == null
                ? TreePattern$.MODULE$.UNRESOLVED_TABLE_VALUED_FUNCTION()
                : TreePattern$.MODULE$.LOCAL_RELATION()));
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int place) {
    return answer.function;
  }

  /** Shows the columns of the function, and nothing of the relations. */
  @Override
  public String simpleString(int maxFields) {
    String shown = columns == null ? "" : columns.mkString("[", ", ", "]");
    return nodeName() + " " + answer.function + shown;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof TableFunctionCall;
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
    String margin = "   ".repeat(indent + Math.max(0, lastChildren.size() - 1));
    String branch =
        lastChildren.isEmpty()
            ? ""
            : (boolean) lastChildren.get(lastChildren.size() - 1) ? "+- " : ":- ";
    append.apply(margin + branch + prefix + simpleString(maxFields) + "\n");
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
    return other instanceof TableFunctionCall that
        && answer == that.answer
        && seen == that.seen
        && Objects.equals(columns, that.columns)
        && relations.equals(that.relations);
  }

  @Override
  public int hashCode() {
    return Objects.hash(System.identityHashCode(answer), columns);
  }

  /** Adds the relations of the tables. */
  static final class FindTables extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.containsPattern(TreePattern$.MODULE$.UNRESOLVED_TABLE_VALUED_FUNCTION())
          ? plan.resolveOperatorsUp(PartialFunction$.MODULE$.fromFunction(FindTables::found))
          : plan;
    }

    /** An error contains the position of the function in the text, as for Spark's functions. */
    private static LogicalPlan found(LogicalPlan node) {
      return node instanceof TableFunctionCall call && call.columns == null
          ? package$.MODULE$.withPosition(call, call::found)
          : node;
    }
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
          ? plan.transformUp(PartialFunction$.MODULE$.fromFunction(ReadTables::read))
          : plan;
    }

    private static LogicalPlan read(LogicalPlan node) {
      if (!(node instanceof TableFunctionCall call)) {
        return node;
      }
      return call.seen
          ? LocalRelation$.MODULE$.fromExternalRows(call.columns, call.answer.rows())
          : new TableFunctionCall(call.answer, call.columns, call.relations, /* seen= */ true);
    }
  }
}
