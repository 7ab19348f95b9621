// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import static sparkext.feature.UsageTrackingFeature.FEATURE_DEFAULT;
import static sparkext.feature.UsageTrackingFeature.FLAG_DEFAULT;

import java.util.Locale;
import org.apache.spark.sql.RuntimeConfig;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.feature.UsageTrackingFeature;
import sparkext.process.RuleProcesses;

/**
 * Hands a metadata change that concerns usage tracking to the Python rules.
 *
 * <p>Decides only whether the rules are asked; what they decide stands in {@code spark_ext/rules}.
 */
public final class MetadataRules {
  private static final String ENABLED_BY_DEFAULT = "spark.sparkext.usageTracking.enabledByDefault";
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
    MetadataChange change =
        new MetadataChange(
            (Protocol) arguments[2],
            (Metadata) arguments[3],
            (Metadata) arguments[4],
            (Metadata) assigned,
            (boolean) arguments[5],
            (boolean) arguments[5] && isTrue(session.conf(), ENABLED_BY_DEFAULT),
            isNamed(session.conf(), FEATURE_DEFAULT),
            session.conf().getOption(FLAG_DEFAULT).isDefined());
    if (!concernsTracking(change)) {
      return assigned;
    }
    try {
      String answer = RuleProcesses.ask("next_metadata", RequestJson.metadataChange(change));
      return AnswerJson.metadata(answer, change.assigned());
    } catch (UsageTrackingException refused) {
      throw refused.sneak();
    }
  }

  /**
   * How column mapping may be removed from a table.
   *
   * @throws UsageTrackingException a failure of the rules
   */
  public static Removal removal(Protocol protocol, Metadata metadata) {
    try {
      String request = RequestJson.removal(protocol, metadata);
      return AnswerJson.removal(RuleProcesses.ask("removal", request));
    } catch (UsageTrackingException refused) {
      throw refused.sneak();
    }
  }

  /**
   * The relation that a table function makes of a table.
   *
   * @param request one of {@link RequestJson}
   * @throws UsageTrackingException a refusal, or a failure of the Python side
   */
  public static Relation relation(String function, String request) throws UsageTrackingException {
    return AnswerJson.relation(RuleProcesses.ask(function, request));
  }

  private static boolean concernsTracking(MetadataChange change) {
    return change.enabledByDefault()
        || UsageTrackingFeature.isSupportedBy(change.protocol())
        || namesTracking(change.assigned())
        || namesTracking(change.old());
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

  /** As Spark reads its own settings, while parseBoolean takes a mistake for false. */
  private static boolean isTrue(RuntimeConfig conf, String key) {
    String value = conf.get(key, "false");
    return switch (value.strip().toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default -> throw UsageTrackingErrors.invalidSetting(key, value, "true or false").sneak();
    };
  }
}
