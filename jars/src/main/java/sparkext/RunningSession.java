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
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.sql.TableFunction;

/**
 * A session that was built without our extension, and gets what the extension would have given it.
 *
 * <p>Its analyzer holds the rules that there were when it was built, and asks for them at each
 * statement: what is put into it takes effect at once. Its optimizer asks the extensions. Its
 * parser stays as it is, since our rule stands before Delta's there.
 *
 * <p>Source: Spark 4.0 to 4.2, BaseSessionStateBuilder.scala, {@code analyzer}; Analyzer.scala,
 * {@code batches}.
 */
final class RunningSession {
  private static final String RULES = "extendedResolutionRules";

  /** Whose next sessions have all: sessions of one origin share them, and each may be attached. */
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

  /** Whether the session has our extension, from its start or since. */
  boolean isWhole() {
    return has(StatementCheck.class);
  }

  /**
   * Completes this session, and those that are made from it.
   *
   * @param inject what gives a session all that is ours
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
    } catch (IllegalAccessException impossible) { // it was made accessible
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

  /** The field of a subclass hides that of {@link Analyzer}, which nothing reads then. */
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
