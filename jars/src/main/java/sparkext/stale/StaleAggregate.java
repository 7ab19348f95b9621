// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.JobNames;

/**
 * Refuses a {@code count}, {@code min} or {@code max} of a plan that was analysed when columns had
 * other names: Delta computes it from the log, by names, and reads no file.
 *
 * <p>This is an optimizer rule, because the rule runs before Delta's rule in any order of the two
 * extensions. The class of Delta's rule is loaded together with its extension, too early to be
 * woven.
 *
 * <p>Source: Delta 4.4.0, OptimizeMetadataOnlyDeltaQuery.scala, {@code optimizeQueryWithMetadata};
 * PrepareDeltaScan.scala, {@code getDeltaScanGenerator}, which compares the first plan of a table
 * only, and no plan inside of a transaction.
 */
public final class StaleAggregate extends Rule<LogicalPlan> {
  private StaleAggregate() {}

  /** Adds the rule to a session. */
  public static void inject(SparkSessionExtensions extensions) {
    extensions.injectOptimizerRule(session -> new StaleAggregate());
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan.containsPattern(TreePattern$.MODULE$.AGGREGATE())) {
      List<LogicalPlan> plans = new ArrayList<>(CollectionConverters.asJava(plan.subqueriesAll()));
      plans.add(plan);
      for (LogicalPlan one : plans) {
        one.foreach(
            node -> {
              if (node instanceof Aggregate aggregate
                  && aggregate.groupingExpressions().isEmpty()) {
                StalePlan.indexes(aggregate).forEach(index -> refuse(index, plans));
              }
              return null;
            });
      }
    }
    return plan;
  }

  private static void refuse(TahoeLogFileIndex index, List<LogicalPlan> plans) {
    if (index.isTimeTravelQuery()) {
      return;
    }
    Option<OptimisticTransaction> transaction = OptimisticTransaction.getActive();
    if (transaction.isDefined()) {
      new ChangeSinceAnalysis(
              index.snapshotAtAnalysis(),
              transaction.get().getDeltaScanGenerator(index).snapshotToScan())
          .requireReadable();
    } else if (plans.stream().flatMap(StalePlan::indexes).anyMatch(other -> differ(index, other))) {
      // This call compares the versions, and lists the log.
      JobNames.ofStatement(SparkSession.active().sparkContext(), index::getSnapshot);
    }
  }

  private static boolean differ(TahoeLogFileIndex index, TahoeLogFileIndex other) {
    return other.deltaLog().isSameLogAs(index.deltaLog())
        && other.snapshotAtAnalysis().version() != index.snapshotAtAnalysis().version();
  }
}
