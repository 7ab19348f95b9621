// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
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
import sparkext.hook.DeltaHooks;
import sparkext.process.ProcessSettings;
import sparkext.sql.TableFunction;

/**
 * The entry point for a running session, which {@code spark_ext/launch.py} calls. Adds to the
 * session what our extension would have added at its start.
 *
 * <p>The analyzer reads its list of rules for each statement, so a rule that is added to the list
 * takes effect at once. The optimizer reads its rules from the extensions. The parser is unchanged,
 * because our rule precedes Delta's rules in the list.
 *
 * <p>Source: Spark 4.0 to 4.2, BaseSessionStateBuilder.scala, {@code analyzer}; Analyzer.scala,
 * {@code batches}.
 */
public final class SessionAttachment {
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
  private SessionAttachment(SparkSession session) throws UsageTrackingException {
    this.session = session;
    this.analyzer = session.sessionState().analyzer();
    if (!has(DeltaAnalysis.class)) {
      throw UsageTrackingErrors.deltaNotConfigured();
    }
    this.rules = rules(analyzer);
  }

  /**
   * Gives a session what {@link UsageTrackingExtension} gives a session at its start. Does nothing
   * if the session has it.
   *
   * @throws UsageTrackingException USAGE_TRACKING_SESSION_NOT_ATTACHABLE, and the errors of a
   *     start; the session is unchanged then
   */
  public static synchronized void attach(SparkSession session)
      throws UsageTrackingException, IOException {
    if (!UsageTrackingExtension.isWanted()) {
      return;
    }
    SessionAttachment attachment = new SessionAttachment(session);
    if (attachment.isComplete()) {
      return;
    }
    ProcessSettings.refuseInSessions();
    DeltaHooks.install();
    attachment.complete();
  }

  /** Returns true if the session has our extension. */
  private boolean isComplete() {
    return has(StatementCheck.class);
  }

  /** Completes this session, and the sessions that are made from it. */
  private void complete() throws UsageTrackingException {
    SparkSessionExtensions extensions = session.extensions();
    if (COMPLETE.add(extensions)) {
      UsageTrackingExtension.inject(extensions);
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
    if (!isComplete()) {
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
        "its analyzer `" + analyzer.getClass().getName() + "` accepts no further rule", cause);
  }
}
