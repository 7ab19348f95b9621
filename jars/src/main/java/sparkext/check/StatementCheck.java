// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import java.lang.reflect.Field;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.Function1;
import scala.collection.mutable.Buffer;

/**
 * Checks every plan, before Delta's rules change the plan: they replace CREATE TABLE LIKE by a
 * command with the properties of its source. The rule changes no plan.
 *
 * <p>This is a resolution rule, because such rules run in every session, for builders and for
 * statements. The analyzer of a Hive session, for example, omits the rules for hints.
 *
 * <p>Source: Spark 4.2.0, BaseSessionStateBuilder.scala and HiveSessionStateBuilder.scala, {@code
 * analyzer}.
 */
public final class StatementCheck extends Rule<LogicalPlan> {
  /** Source: Spark 4.0 to 4.2, SparkSessionExtensions.scala. */
  private static final String RULES = "resolutionRuleBuilders";

  private final SparkSession session;

  private StatementCheck(SparkSession session) {
    this.session = session;
  }

  /** Returns the check of a running session. */
  public static Rule<LogicalPlan> of(SparkSession session) {
    return new StatementCheck(session);
  }

  /** Adds the check to a session, before the rules of the extensions that precede ours. */
  @SuppressWarnings("unchecked")
  public static void inject(SparkSessionExtensions extensions) {
    try {
      Field rules = SparkSessionExtensions.class.getDeclaredField(RULES);
      rules.setAccessible(true);
      ((Buffer<Function1<SparkSession, Rule<LogicalPlan>>>) rules.get(extensions))
          .prepend(StatementCheck::new);
    } catch (ReflectiveOperationException renamed) {
      throw new IllegalStateException(renamed);
    }
  }

  /**
   * Throws if the plan names the flag, names the feature in CREATE TABLE LIKE, or uses Delta tables
   * while the session catalog is Spark's own.
   */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    PropertyCheck.refuse(plan);
    DeltaConfiguration.requireCatalog(session, plan);
    CheckedRemoval.refuse(plan);
    return plan;
  }
}
