// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import static sparkext.feature.UsageTrackingFeature.FEATURE_DEFAULT;
import static sparkext.feature.UsageTrackingFeature.FLAG_DEFAULT;

import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.RuntimeConfig;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.error.Setting;
import sparkext.error.UsageTrackingException;
import sparkext.feature.UsageTrackingFeature;
import sparkext.parquet.ColumnPlan;
import sparkext.process.RuleProcesses;

/**
 * Hands a metadata change that concerns usage tracking to the Python rules.
 *
 * <p>Decides only whether the rules are asked; what they decide stands in {@code spark_ext/rules}.
 */
public final class MetadataRules {
  private static final Logger LOG = LoggerFactory.getLogger(MetadataRules.class);
  private static final String FEATURE_PROPERTY =
      UsageTrackingFeature.PROPERTY.toLowerCase(Locale.ROOT);

  private MetadataRules() {}

  /**
   * The metadata to commit.
   *
   * @param arguments those of {@code DeltaColumnMapping.verifyAndUpdateMetadataChange}
   * @param assigned what that method returned
   * @throws UsageTrackingException a refusal, or a failure of the rules; the commit fails with it
   */
  public static Object nextMetadata(Object[] arguments, Object assigned) {
    SparkSession session = (SparkSession) arguments[0];
    Protocol protocol = (Protocol) arguments[2];
    Metadata old = (Metadata) arguments[3];
    Metadata proposed = (Metadata) arguments[4];
    Metadata decided = (Metadata) assigned;
    boolean creatingTable = (boolean) arguments[5];
    boolean enabledByDefault = creatingTable && Setting.ENABLED_BY_DEFAULT.isTrue(session);
    boolean concernsTracking =
        enabledByDefault
            || UsageTrackingFeature.isSupportedBy(protocol)
            || namesTracking(decided)
            || namesTracking(old)
            || decided.configuration().contains(TableMetadata.ALIGNING);
    if (!concernsTracking) {
      return assigned;
    }
    Question question =
        new Question.MetadataChange(
            TableMetadata.of(old),
            TableMetadata.of(proposed, old, null),
            TableMetadata.of(decided, old, proposed),
            new Question.CommitContext(
                TableProtocol.of(protocol),
                creatingTable,
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

  /**
   * How a table may remove column mapping.
   *
   * @throws UsageTrackingException a failure of the rules
   */
  public static AllowedRemoval removal(Protocol protocol, Metadata metadata) {
    try {
      Question question =
          new Question.Removal(TableMetadata.of(metadata), TableProtocol.of(protocol));
      return AnswerJson.record(RuleProcesses.ask("removal", question.json()), AllowedRemoval.class);
    } catch (UsageTrackingException refused) {
      throw refused.sneakyThrow();
    }
  }

  /**
   * What becomes of the columns in the files of a table that is purged of dropped ones; nothing
   * where mapping is off.
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
   * The relation that a table function makes of a table.
   *
   * @throws UsageTrackingException a refusal, or a failure of the Python side
   */
  public static Relation relation(String function, Question question)
      throws UsageTrackingException {
    return AnswerJson.relation(RuleProcesses.ask(function, question.json()));
  }

  private static boolean namesTracking(Metadata metadata) {
    return metadata.configuration().contains(UsageTrackingFeature.FLAG)
        || metadata
            .configuration()
            .keysIterator()
            .exists(key -> key.toLowerCase(Locale.ROOT).equals(FEATURE_PROPERTY));
  }

  /** Delta takes the feature's name in a session default in any letter case. */
  private static boolean isNamed(RuntimeConfig conf, String key) {
    return conf.getAll().keysIterator().exists(key::equalsIgnoreCase);
  }
}
