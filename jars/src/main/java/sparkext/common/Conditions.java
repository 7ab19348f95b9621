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

  /** The condition and the parameters of an error, whose class this Spark may be unable to load. */
  static final class Error {
    private final String condition;
    private final Map<String, String> parameters = new LinkedHashMap<>();

    private Error(String condition) {
      this.condition = condition;
    }

    /** Adds a parameter. */
    Error with(String name, Object value) {
      parameters.put(name, String.valueOf(value));
      return this;
    }

    String condition() {
      return condition;
    }

    String sqlState() {
      return ALL.required(condition).required("sqlState").textValue();
    }

    Map<String, String> parameters() {
      return parameters;
    }

    String message() {
      return "[" + condition + "] " + text() + " SQLSTATE: " + sqlState();
    }

    private String text() {
      return Conditions.text(ALL.required(condition).required("template").textValue(), parameters);
    }

    UsageTrackingException exception(Throwable cause) {
      return new UsageTrackingException(condition, sqlState(), parameters, text(), cause);
    }

    UsageTrackingException exception() {
      return exception(null);
    }
  }

  /** Returns the error of a condition, without parameters. */
  static Error error(String condition) {
    return new Error(condition);
  }

  /** Fills in all values in one pass, because a value may contain braces. */
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
