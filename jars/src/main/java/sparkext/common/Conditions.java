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

/** The SQLSTATEs and templates of {@code spark_ext/conditions.json}, which Java and Python read. */
final class Conditions {
  private static final Pattern PLACEHOLDER = Pattern.compile("`\\{(\\w+)}`|\\{(\\w+)}");
  private static final JsonNode ALL = listed("conditions.json");

  private Conditions() {}

  /**
   * Returns the error of a condition.
   *
   * @param cause null if there is none
   * @param values of the placeholders, in the order in which the template names them first
   */
  static UsageTrackingException error(String condition, Throwable cause, Object... values) {
    Map<String, String> parameters = parameters(condition, values);
    return new UsageTrackingException(
        condition, sqlState(condition), parameters, text(condition, parameters), cause);
  }

  /** Returns the values by the names of their placeholders. */
  static Map<String, String> parameters(String condition, Object... values) {
    Map<String, String> parameters = new LinkedHashMap<>();
    Matcher found = PLACEHOLDER.matcher(template(condition));
    while (found.find()) {
      String name = found.group(2) == null ? found.group(1) : found.group(2);
      parameters.computeIfAbsent(name, next -> String.valueOf(values[parameters.size()]));
    }
    return parameters;
  }

  static String sqlState(String condition) {
    return ALL.required(condition).required("sqlState").textValue();
  }

  private static String template(String condition) {
    return ALL.required(condition).required("template").textValue();
  }

  /** Fills in all values in one pass, because a value may contain braces. */
  static String text(String condition, Map<String, String> parameters) {
    return PLACEHOLDER
        .matcher(template(condition))
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
