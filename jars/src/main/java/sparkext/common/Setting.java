// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/**
 * The settings that {@code spark_ext/settings.json} declares, and the only parser of their values.
 *
 * <p>Every method that reads a value throws USAGE_TRACKING_INVALID_SETTING if the value does not
 * have the declared type.
 */
public final class Setting {
  private static final JsonNode DECLARED = Conditions.listed("settings.json");

  private final String key;
  private final JsonNode declared;

  /** Makes the setting of a key. The one class that reads a setting keeps it as a constant. */
  public Setting(String key) {
    this.key = key;
    declared = DECLARED.required(key);
  }

  /** Returns the names of the settings that only the application's configuration can set. */
  public static List<String> keysOfApplication() {
    return DECLARED.properties().stream()
        .filter(setting -> setting.getValue().required("scope").textValue().equals("application"))
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Returns the name that users set. */
  public String key() {
    return key;
  }

  /** Returns the value in a session or its default; empty if the setting has neither. */
  public Optional<String> of(SparkSession session) {
    return value(session.conf().getOption(key));
  }

  /** Returns the value in an application or its default; empty if the setting has neither. */
  public Optional<String> of(SparkConf application) {
    return value(application.getOption(key));
  }

  /** Returns a value of the type {@code boolean}. */
  public boolean isTrue(SparkSession session) {
    return of(session).orElseThrow().equals("true");
  }

  /** Returns a value of the type {@code time} in milliseconds. */
  public long millis(SparkSession session) {
    return JavaUtils.timeStringAsMs(of(session).orElseThrow());
  }

  /** Returns a value of the type {@code time} in milliseconds. */
  public long millis(SparkConf application) {
    return JavaUtils.timeStringAsMs(of(application).orElseThrow());
  }

  private Optional<String> value(Option<String> set) {
    if (set.isEmpty()) {
      return Optional.ofNullable(declared.required("default").textValue());
    }
    String text = set.get();
    return Optional.of(
        switch (declared.required("type").textValue()) {
          case "boolean" -> oneOf(List.of("true", "false"), text);
          case "choice" -> oneOf(choices(), text);
          case "time" -> time(text);
          case "text" -> text;
          default -> throw new IllegalStateException("The type of " + key + " is unknown.");
        });
  }

  private List<String> choices() {
    List<String> choices = new ArrayList<>();
    declared.required("values").forEach(value -> choices.add(value.textValue()));
    return choices;
  }

  /** Ignores white space and letter case, as Spark does for booleans. */
  private String oneOf(List<String> values, String text) {
    String value = text.strip().toLowerCase(Locale.ROOT);
    if (!values.contains(value)) {
      throw invalid(text, String.join(" or ", values));
    }
    return value;
  }

  private String time(String text) {
    long minimum = declared.required("minimum").longValue();
    String expected =
        "a time of at least "
            + minimum
            + " ms, such as `"
            + declared.required("default").textValue()
            + "`";
    try {
      if (JavaUtils.timeStringAsMs(text) >= minimum) {
        return text;
      }
    } catch (NumberFormatException noTime) {
      throw invalid(text, expected);
    }
    throw invalid(text, expected);
  }

  private RuntimeException invalid(String text, String expected) {
    return UsageTrackingErrors.invalidSetting(key, text, expected).sneakyThrow();
  }
}
