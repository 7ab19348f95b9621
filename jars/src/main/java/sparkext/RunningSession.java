// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.Analyzer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaAnalysis;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.check.StatementCheck;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.sql.TableFunction;

/**
 * Adds to a running session what our extension would have added at its start.
 *
 * <p>The analyzer reads its list of rules for each statement, so a rule that is added to the list
 * takes effect at once. The optimizer reads its rules from the extensions. The parser is unchanged,
 * since our rule precedes Delta's rules in the list.
 *
 * <p>Source: Spark 4.0 to 4.2, BaseSessionStateBuilder.scala, {@code analyzer}; Analyzer.scala,
 * {@code batches}.
 */
final class RunningSession {
  private static final String RULES = "extendedResolutionRules";

  /** The extensions that are complete. Sessions of one origin share their extensions. */
  private static final Set<SparkSessionExtensions> COMPLETE =
      Collections.newSetFromMap(new WeakHashMap<>());

  private final SparkSession session;
  private final Analyzer analyzer;
  private final Field rules;

  /**
   * Changes nothing yet.
   *
   * @throws UsageTrackingException USAGE_TRACKING_SESSION_NOT_ATTACHABLE;
   *     DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG
   */
  RunningSession(SparkSession session) throws UsageTrackingException {
    this.session = session;
    this.analyzer = session.sessionState().analyzer();
    if (!has(DeltaAnalysis.class)) {
      throw UsageTrackingErrors.deltaNotConfigured();
    }
    this.rules = rules(analyzer);
  }

  /** Returns true if the session has our extension. */
  boolean isWhole() {
    return has(StatementCheck.class);
  }

  /**
   * Completes this session, and the sessions that are made from it.
   *
   * @param inject adds everything of ours to the extensions of a session
   */
  void complete(Consumer<SparkSessionExtensions> inject) throws UsageTrackingException {
    SparkSessionExtensions extensions = session.extensions();
    if (COMPLETE.add(extensions)) {
      inject.accept(extensions);
    }
    extensions.registerTableFunctions(session.sessionState().tableFunctionRegistry());
    try {
      List<Rule<LogicalPlan>> all =
          new ArrayList<>(List.of(StatementCheck.of(session), TableFunction.rule()));
      all.addAll(CollectionConverters.asJava(analyzer.extendedResolutionRules()));
      rules.set(analyzer, CollectionConverters.asScala(all).toList());
    } catch (IllegalAccessException impossible) { // the field was made accessible
      throw new IllegalStateException(impossible);
    }
    if (!isWhole()) {
      throw notAttachable(null);
    }
  }

  private boolean has(Class<?> type) {
    return CollectionConverters.asJava(analyzer.extendedResolutionRules()).stream()
        .anyMatch(type::isInstance);
  }

  /** Returns the field that is read. A field of a subclass hides the field of {@link Analyzer}. */
  private static Field rules(Analyzer analyzer) throws UsageTrackingException {
    Seq<Rule<LogicalPlan>> wanted = analyzer.extendedResolutionRules();
    try {
      for (Class<?> type = analyzer.getClass(); type != Object.class; type = type.getSuperclass()) {
        for (Field field : type.getDeclaredFields()) {
          if (field.getName().equals(RULES)) {
            field.setAccessible(true);
            if (field.get(analyzer) == wanted) {
              return field;
            }
          }
        }
      }
    } catch (IllegalAccessException | InaccessibleObjectException | SecurityException closed) {
      throw notAttachable(analyzer, closed);
    }
    throw notAttachable(analyzer, null);
  }

  private UsageTrackingException notAttachable(Throwable cause) {
    return notAttachable(analyzer, cause);
  }

  private static UsageTrackingException notAttachable(Analyzer analyzer, Throwable cause) {
    return UsageTrackingErrors.sessionNotAttachable(
        "its analyzer `" + analyzer.getClass().getName() + "` takes no further rule", cause);
  }
}
