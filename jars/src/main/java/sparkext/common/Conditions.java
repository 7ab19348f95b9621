// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The SQLSTATEs and templates of {@code spark_ext/conditions.json}, which both halves read. */
final class Conditions {
  private static final Pattern PLACEHOLDER = Pattern.compile("`\\{(\\w+)}`|\\{(\\w+)}");
  private static final JsonNode ALL = listed("conditions.json");

  private Conditions() {}

  /** The texts of an error, independent of its class. */
  record Error(String condition, String sqlState, Map<String, String> parameters, String text) {
    String message() {
      return "[" + condition + "] " + text + " SQLSTATE: " + sqlState;
    }
  }

  /** Returns the error of a condition. Each name is followed by its value. */
  static UsageTrackingException error(String condition, Throwable cause, String... namesAndValues) {
    Error error = described(condition, namesAndValues);
    return new UsageTrackingException(
        error.condition(), error.sqlState(), error.parameters(), error.text(), cause);
  }

  /** Returns the texts of an error, whose class this Spark may be unable to load. */
  static Error described(String condition, String... namesAndValues) {
    Map<String, String> parameters = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      parameters.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    JsonNode listed = ALL.required(condition);
    String text = text(listed.required("template").textValue(), parameters);
    String sqlState = listed.required("sqlState").textValue();
    return new Error(condition, sqlState, parameters, text);
  }

  /** Fills in all values in one pass, since a value may contain braces. */
  private static String text(String template, Map<String, String> parameters) {
    return PLACEHOLDER
        .matcher(template)
        .replaceAll(
            found ->
                Matcher.quoteReplacement(
                    found.group(2) == null
                        ? inBackticks(parameters.get(found.group(1)))
                        : parameters.get(found.group(2))));
  }

  /** Quotes a name if the name is not quoted. */
  private static String inBackticks(String value) {
    return value.contains("`") ? value : "`" + value + "`";
  }

  /** Reads a file that Java and Python share. */
  static JsonNode listed(String file) {
    try (InputStream list = Conditions.class.getResourceAsStream("/spark_ext/" + file)) {
      return new ObjectMapper().readTree(list);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }
}
