// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.UnresolvedException;
import org.apache.spark.sql.catalyst.analysis.package$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import scala.Enumeration;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;
import sparkext.common.UsageTrackingException;

/**
 * A table function whose tables are not yet found. Spark 4.0 and 4.1 look up a function, and make
 * its plan, under the lock of the session's catalog. Every other query waits for that lock, so a
 * rule of the analyzer finds the tables later.
 *
 * <p>Source: Spark 4.1, SessionCatalog.scala, {@code resolveBuiltinOrTempFunctionInternal}.
 */
final class UnresolvedCall extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final String function;
  private final transient Callable<FoundTables> question;

  /**
   * @param function its name
   * @param question finds the tables; is called once
   */
  UnresolvedCall(String function, Callable<FoundTables> question) {
    this.function = function;
    this.question = question;
  }

  /** Adds the rule that finds the tables to a session. */
  static void inject(SparkSessionExtensions extensions) {
    extensions.injectResolutionRule(session -> new FindTables());
  }

  @Override
  public boolean resolved() {
    return false;
  }

  @Override
  public Seq<Attribute> output() {
    throw UsageTrackingException.sneakyThrow(new UnresolvedException("output"));
  }

  @Override
  public Seq<LogicalPlan> children() {
    return CollectionConverters.asScala(List.<LogicalPlan>of()).toList();
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> none) {
    return this;
  }

  @Override
  public Seq<Enumeration.Value> nodePatterns() {
    return CollectionConverters.asScala(
            List.of(TreePattern$.MODULE$.UNRESOLVED_TABLE_VALUED_FUNCTION()))
        .toList();
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int place) {
    return function;
  }

  @Override
  public boolean canEqual(Object other) {
    return other == this;
  }

  @Override
  public boolean equals(Object other) {
    return other == this;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }

  /** Replaces the function by one with its tables. */
  static final class FindTables extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.containsPattern(TreePattern$.MODULE$.UNRESOLVED_TABLE_VALUED_FUNCTION())
          ? plan.resolveOperatorsUp(new Replacement())
          : plan;
    }
  }

  private static final class Replacement extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan node) {
      return node instanceof UnresolvedCall;
    }

    @Override
    public LogicalPlan apply(LogicalPlan node) {
      // An error contains the position of the function in the text, as for Spark's functions.
      UnresolvedCall call = (UnresolvedCall) node;
      return package$.MODULE$.withPosition(
          call,
          () -> ResolvedCall.of(call.function, FoundTables.call(call.function, call.question)));
    }
  }
}
