// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import static sparkext.delta.UsageTrackingFeature.FEATURE_DEFAULT;
import static sparkext.delta.UsageTrackingFeature.FLAG_DEFAULT;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RuntimeConfig;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.common.Setting;
import sparkext.common.UsageTrackingException;
import sparkext.delta.UsageTrackingFeature;
import sparkext.log.TableLog.ErasureStart;
import sparkext.parquet.ColumnPlan;
import sparkext.process.RuleProcesses;
import sparkext.wire.PlanJson.AllowedRemoval;
import sparkext.wire.PlanJson.PurgePlan;
import sparkext.wire.Question.TableProtocol;

/**
 * Queries the Python rules.
 *
 * <p>This class decides only whether the rules are queried; {@code spark_ext/rules} decides the
 * rest.
 */
public final class MetadataRules {
  private static final Logger LOG = LoggerFactory.getLogger(MetadataRules.class);
  private static final Setting ENABLED_BY_DEFAULT =
      new Setting("spark.sparkext.usageTracking.enabledByDefault");
  private static final String FEATURE_PROPERTY =
      UsageTrackingFeature.PROPERTY.toLowerCase(Locale.ROOT);

  /** Returns the protocol of the version that this thread restores, or of the table it clones. */
  private static final ThreadLocal<Supplier<Protocol>> COPIED = new ThreadLocal<>();

  private MetadataRules() {}

  /**
   * Begins a RESTORE or CLONE in this thread, and returns its end.
   *
   * @param copied returns the protocol of the restored version or of the cloned table
   */
  public static Runnable copying(Supplier<Protocol> copied) {
    COPIED.set(copied);
    return COPIED::remove;
  }

  /**
   * Returns the metadata to commit.
   *
   * @param arguments the arguments of {@code DeltaColumnMapping.verifyAndUpdateMetadataChange}
   * @param assigned the result of that method
   * @throws UsageTrackingException a refusal or a failure of the rules, with which the commit fails
   */
  public static Object nextMetadata(Object[] arguments, Object assigned) {
    SparkSession session = (SparkSession) arguments[0];
    Protocol protocol = (Protocol) arguments[2];
    Metadata old = (Metadata) arguments[3];
    Metadata proposed = (Metadata) arguments[4];
    Metadata decided = (Metadata) assigned;
    boolean creatingTable = (boolean) arguments[5];
    boolean enabledByDefault = creatingTable && ENABLED_BY_DEFAULT.isTrue(session);
    boolean concernsTracking =
        enabledByDefault
            || UsageTrackingFeature.isSupportedBy(protocol)
            || namesTracking(decided)
            || namesTracking(old)
            || decided.configuration().contains(TableMetadata.ALIGNING);
    if (!concernsTracking) {
      return assigned;
    }
    Supplier<Protocol> copied = COPIED.get();
    Question question =
        new Question.MetadataChange(
            TableMetadata.of(old),
            TableMetadata.of(proposed, old, null),
            TableMetadata.of(decided, old, proposed),
            new Question.CommitContext(
                TableProtocol.of(protocol),
                creatingTable,
                copied != null && !UsageTrackingFeature.isSupportedBy(copied.get()),
                enabledByDefault,
                isNamed(session.conf(), FEATURE_DEFAULT),
                session.conf().getOption(FLAG_DEFAULT).isDefined()));
    try {
      String answer = RuleProcesses.ask("next_metadata", question.json());
      AnswerJson.Decision decision = AnswerJson.decision(answer, decided);
      DeltaLog log = (DeltaLog) arguments[1];
      decision.warning().ifPresent(warning -> LOG.warn("{}: {}", log.dataPath(), warning));
      return decision.metadata();
    } catch (UsageTrackingException refused) {
      throw refused.sneakyThrow();
    }
  }

  /** Starts the rule process in the background if a tracked table is read. */
  public static void expectQuestions(Object table) {
    if (table instanceof SnapshotDescriptor read
        && UsageTrackingFeature.isSupportedBy(read.protocol())) {
      RuleProcesses.startEarly();
    }
  }

  /**
   * Returns how a table may remove column mapping.
   *
   * @param copies whether the answer has a plan for copies
   * @throws UsageTrackingException a failure of the rules
   */
  public static AllowedRemoval removal(Protocol protocol, Metadata metadata, boolean copies) {
    try {
      Question question =
          new Question.Removal(TableMetadata.of(metadata), TableProtocol.of(protocol), copies);
      return AnswerJson.record(RuleProcesses.ask("removal", question.json()), AllowedRemoval.class);
    } catch (UsageTrackingException refused) {
      throw refused.sneakyThrow();
    }
  }

  /**
   * Returns the plan for the columns in the files of a purge; empty if column mapping is off.
   *
   * @throws UsageTrackingException a failure of the rules
   */
  public static Optional<ColumnPlan> purge(Metadata metadata) {
    try {
      Question question = new Question.Purge(TableMetadata.of(metadata));
      return AnswerJson.record(RuleProcesses.ask("purge", question.json()), PurgePlan.class).plan();
    } catch (UsageTrackingException refused) {
      throw refused.sneakyThrow();
    }
  }

  /**
   * Returns what the metadata shows of the moment of an erasure.
   *
   * @throws UsageTrackingException a failure of the rules
   */
  public static ErasureStart erasureStart(Question question) {
    try {
      return AnswerJson.record(
          RuleProcesses.ask("erasure_start", question.json()), ErasureStart.class);
    } catch (UsageTrackingException refused) {
      throw refused.sneakyThrow();
    }
  }

  /**
   * Returns the rows of a table function.
   *
   * @throws UsageTrackingException a refusal, or a failure of the Python side
   */
  public static List<Row> rows(String function, Question question) throws UsageTrackingException {
    return AnswerJson.rows(
        RuleProcesses.ask(function, question.json()), FunctionColumns.of(function));
  }

  private static boolean namesTracking(Metadata metadata) {
    return metadata.configuration().contains(UsageTrackingFeature.FLAG)
        || metadata
            .configuration()
            .keysIterator()
            .exists(key -> key.toLowerCase(Locale.ROOT).equals(FEATURE_PROPERTY));
  }

  /**
   * Returns whether a session default names a feature. Delta ignores the letter case of the name.
   */
  private static boolean isNamed(RuntimeConfig conf, String key) {
    return conf.getAll().keysIterator().exists(key::equalsIgnoreCase);
  }
}
