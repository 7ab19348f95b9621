// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.DeltaAnalysis;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Checks every plan, before Delta's rules change the plan: they replace CREATE TABLE LIKE by a
 * command with the properties of its source. The rule changes no plan.
 *
 * <p>This is a resolution rule, because such rules run in every session, for builders and for
 * statements. The analyzer of a Hive session, for example, omits the rules for hints. Rules run in
 * the order of the extensions: if ours follows Delta's, {@link CheckedParser} checks statements
 * earlier.
 *
 * <p>Source: Spark 4.2.0, BaseSessionStateBuilder.scala and HiveSessionStateBuilder.scala, {@code
 * analyzer}.
 */
public final class StatementCheck extends Rule<LogicalPlan> {
  private final SparkSession session;

  private StatementCheck(SparkSession session) {
    this.session = session;
  }

  /** Returns the check of a running session. */
  public static Rule<LogicalPlan> of(SparkSession session) {
    return new StatementCheck(session);
  }

  /** Adds the check to a session. */
  public static void inject(SparkSessionExtensions extensions) {
    extensions.injectResolutionRule(StatementCheck::new);
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    refuse(session, plan);
    CheckedRemoval.refuse(plan);
    return plan;
  }

  /**
   * Throws if the plan names the flag, names the feature in CREATE TABLE LIKE, or uses Delta tables
   * while the session catalog is Spark's own.
   */
  static void refuse(SparkSession session, LogicalPlan plan) {
    PropertyCheck.refuse(plan);
    DeltaConfiguration.requireCatalog(session, plan);
  }

  /** Returns true if Delta's rules run before this rule. */
  static boolean followsDelta(SparkSession session) {
    var rules =
        CollectionConverters.asJava(
            ((org.apache.spark.sql.classic.SparkSession) session)
                .sessionState()
                .analyzer()
                .extendedResolutionRules());
    for (Rule<LogicalPlan> rule : rules) {
      if (rule instanceof StatementCheck) {
        return false;
      }
      if (rule instanceof DeltaAnalysis) {
        return true;
      }
    }
    throw new IllegalStateException("No rule of sparkext.UsageTrackingExtension in " + rules);
  }
}
