// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.delta.DeltaAnalysis;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refuses what may not be asked for, of every plan, before Delta's rules hide what the user wrote:
 * they turn CREATE TABLE LIKE into a command with the properties of its source.
 *
 * <p>A resolution rule, because every session has those (the analyzer of a Hive session leaves the
 * rules for hints out), and it sees builders as well as statements. Rules run in the order of the
 * extensions: where ours stands after Delta's, {@link CheckedParser} sees the statements earlier.
 * Changes no plan.
 *
 * <p>Source: Spark 4.2.0, BaseSessionStateBuilder.scala and HiveSessionStateBuilder.scala, {@code
 * analyzer}.
 */
public final class StatementCheck extends Rule<LogicalPlan> {
  private final SparkSession session;

  private StatementCheck(SparkSession session) {
    this.session = session;
  }

  /** The check of a session that runs already. */
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

  /** Throws what refuses the plan, if anything does. */
  static void refuse(SparkSession session, LogicalPlan plan) {
    PropertyCheck.refuse(plan);
    DeltaConfiguration.requireCatalog(session, plan);
  }

  /** Whether Delta's rules run before this one. */
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
