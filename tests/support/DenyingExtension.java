// SPDX-License-Identifier: Apache-2.0
import java.util.List;
import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Denies the user {@code eve} the table {@code secret}, by its name and by its path.
 *
 * <p>The session's setting {@code test.user} is the user. {@code test.denied} is the part of Spark
 * that refuses: {@code check}, {@code resolution}, {@code optimizer}, or {@code catalog} ({@link
 * DenyingCatalog}).
 */
public class DenyingExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static final String SECRET = "secret";
  private static final Map<String, String> WHAT =
      Map.of("statement", "read", "objectType", "table", "objectName", "of others");

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectCheckRule(session -> new Check(session));
    extensions.injectResolutionRule(session -> new Resolution(session));
    extensions.injectOptimizerRule(session -> new Authorization(session));
    return BoxedUnit.UNIT;
  }

  static boolean denies(SparkSession session, String by) {
    return session.conf().get("test.user", "").equals("eve")
        && session.conf().get("test.denied", "check").equals(by);
  }

  static RuntimeException refusal() {
    throw sneakyThrow(
        new AnalysisException(
            "[FORBIDDEN_OPERATION] Not for eve.",
            Option.empty(),
            Option.empty(),
            Option.empty(),
            Option.apply("FORBIDDEN_OPERATION"),
            scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(WHAT)),
            new QueryContext[0]));
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException sneakyThrow(Throwable error) throws T {
    throw (T) error;
  }

  /** The check rule, in the type that {@code injectCheckRule} takes. */
  private static final class Check extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private final SparkSession session;

    Check(SparkSession session) {
      this.session = session;
    }

    @Override
    public BoxedUnit apply(LogicalPlan plan) {
      if (denies(session, "check") && hasSecret(plan)) {
        throw refusal();
      }
      return BoxedUnit.UNIT;
    }
  }

  /** An optimizer rule that checks a plan, as Kyuubi's rule for Ranger does. */
  private static final class Authorization extends Rule<LogicalPlan> {
    private final SparkSession session;

    Authorization(SparkSession session) {
      this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (denies(session, "optimizer") && hasSecret(plan)) {
        throw refusal();
      }
      return plan;
    }
  }

  /** A resolution rule that refuses a relation only if its columns are known. */
  private static final class Resolution extends Rule<LogicalPlan> {
    private final SparkSession session;

    Resolution(SparkSession session) {
      this.session = session;
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (denies(session, "resolution") && hasKnownSecret(plan)) {
        throw refusal();
      }
      return plan;
    }

    private static boolean hasKnownSecret(LogicalPlan plan) {
      return (isSecret(plan) && !plan.output().isEmpty())
          || CollectionConverters.asJava(plan.children()).stream()
              .anyMatch(each -> hasKnownSecret(each));
    }
  }

  private static boolean hasSecret(LogicalPlan plan) {
    return isSecret(plan)
        || CollectionConverters.asJava(plan.children()).stream().anyMatch(each -> hasSecret(each))
        || CollectionConverters.asJava(plan.subqueries()).stream()
            .anyMatch(each -> hasSecret(each));
  }

  private static boolean isSecret(LogicalPlan node) {
    if (node instanceof LogicalRelation relation) {
      boolean named =
          relation.catalogTable().isDefined()
              && relation.catalogTable().get().identifier().table().equals(SECRET);
      return named
          || (relation.relation() instanceof HadoopFsRelation files
              && CollectionConverters.asJava(files.location().rootPaths()).stream()
                  .anyMatch(path -> path.getName().equals(SECRET)));
    }
    return node instanceof DataSourceV2Relation relation
        && relation.identifier().isDefined()
        && List.of(relation.identifier().get().name().split("/")).contains(SECRET);
  }
}
