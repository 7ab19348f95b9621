// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.delta.ChangedMetadata;

/** Reads the JSON of answers; {@code spark_ext/process/messages.py} describes the shape. */
final class AnswerJson {
  private AnswerJson() {}

  /**
   * The answer to a metadata change.
   *
   * @param metadata the metadata to commit
   * @param warning a warning for the session's log
   */
  record Decision(Metadata metadata, Optional<String> warning) {}

  /**
   * Returns {@code assigned} with the answer's properties and, if present, the answer's schema.
   *
   * @throws UsageTrackingException the error in the answer; USAGE_TRACKING_MALFORMED_MESSAGE if the
   *     text is not an answer
   */
  static Decision decision(String text, Metadata assigned) throws UsageTrackingException {
    JsonNode answer = accepted(text);
    JsonNode schema = answer.path("schema");
    JsonNode configuration = answer.path("configuration");
    JsonNode warning = answer.path("warning");
    if (!hasTextsOnly(configuration)
        || !(schema.isNull() || schema.isObject())
        || !(warning.isNull() || warning.isTextual())) {
      throw noAnswer(text, null);
    }
    Map<String, String> properties =
        new LinkedHashMap<>(CollectionConverters.asJava(assigned.configuration()));
    properties.putAll(strings(configuration));
    Metadata decided =
        ChangedMetadata.of(
            assigned,
            schema.isNull() ? assigned.schemaString() : schema.toString(),
            scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(properties)));
    try {
      // Delta reads the schema next and caches it.
      decided.schema();
      return new Decision(decided, Optional.ofNullable(warning.textValue()));
    } catch (RuntimeException noSchema) {
      throw noAnswer(text, noSchema);
    }
  }

  private static boolean hasTextsOnly(JsonNode object) {
    return object.isObject() && values(object).allMatch(JsonNode::isTextual);
  }

  /**
   * Returns the record whose components are the keys of an answer.
   *
   * @throws UsageTrackingException as {@link #decision}
   */
  static <T extends Record> T record(String text, Class<T> type) throws UsageTrackingException {
    JsonNode answer = accepted(text);
    try {
      return Json.record(answer, type);
    } catch (JsonProcessingException unfit) {
      throw noAnswer(text, unfit);
    }
  }

  /**
   * Returns the rows of a table function.
   *
   * @throws UsageTrackingException as {@link #decision}
   */
  static List<Row> rows(String text, StructType columns) throws UsageTrackingException {
    JsonNode rows = accepted(text).path("rows");
    if (!rows.isArray()) {
      throw noAnswer(text, null);
    }
    try {
      return values(rows).map(row -> (Row) value(row, columns)).toList();
    } catch (IllegalArgumentException unfit) {
      throw noAnswer(text, unfit);
    }
  }

  /** Throws if a value does not fit its type. Spark's own reader returns null or skips the row. */
  private static Object value(JsonNode json, DataType type) {
    if (type instanceof StructType struct && json.isObject() && hasFieldsOf(json, struct)) {
      return RowFactory.create(
          Arrays.stream(struct.fields())
              .map(field -> nullOrValue(json.get(field.name()), field.dataType()))
              .toArray());
    }
    if (type instanceof ArrayType array && json.isArray()) {
      return values(json).map(element -> value(element, array.elementType())).toList();
    }
    if (type instanceof StringType && json.isTextual()) {
      return json.textValue();
    }
    if (type instanceof LongType && json.canConvertToLong() && json.isIntegralNumber()) {
      return json.longValue();
    }
    if (type instanceof DoubleType && json.isNumber()) {
      return json.doubleValue();
    }
    if (type instanceof TimestampType && json.canConvertToLong() && json.isIntegralNumber()) {
      return new Timestamp(json.longValue()); // in milliseconds, as in a log
    }
    if (type instanceof BooleanType && json.isBoolean()) {
      return json.booleanValue();
    }
    throw new IllegalArgumentException(json + " is not of type " + type.sql());
  }

  private static Object nullOrValue(JsonNode json, DataType type) {
    return json.isNull() ? null : value(json, type);
  }

  private static boolean hasFieldsOf(JsonNode object, StructType struct) {
    return object.size() == struct.size()
        && Arrays.stream(struct.fieldNames()).allMatch(object::has);
  }

  private static JsonNode accepted(String text) throws UsageTrackingException {
    JsonNode answer = parse(text);
    if (!answer.has("error")) {
      return answer;
    }
    throw isRefusal(answer.get("error")) ? refusal(answer.get("error")) : noAnswer(text, null);
  }

  private static JsonNode parse(String text) throws UsageTrackingException {
    try {
      JsonNode node = Json.read(text);
      if (node.isObject()) {
        return node;
      }
      throw noAnswer(text, null);
    } catch (JsonProcessingException notJson) {
      throw noAnswer(text, notJson);
    }
  }

  private static UsageTrackingException noAnswer(String text, Throwable cause) {
    String start = text.length() <= 200 ? text : text.substring(0, 200) + "..";
    return UsageTrackingErrors.malformedAnswer("is `" + start + "`", cause);
  }

  private static UsageTrackingException refusal(JsonNode error) {
    return new UsageTrackingException(
        error.get("condition").textValue(),
        error.get("sqlState").textValue(),
        strings(error.get("parameters")),
        error.get("message").textValue(),
        null);
  }

  private static boolean isRefusal(JsonNode error) {
    return hasTextsOnly(error.path("parameters"))
        && Stream.of("condition", "sqlState", "message")
            .allMatch(key -> error.path(key).isTextual());
  }

  /** Replaces {@code JsonNode.valueStream}, which Jackson 2.18 of Spark 4.0 lacks. */
  private static Stream<JsonNode> values(JsonNode container) {
    return StreamSupport.stream(container.spliterator(), /* parallel= */ false);
  }

  private static Map<String, String> strings(JsonNode object) {
    Map<String, String> values = new LinkedHashMap<>();
    object.properties().forEach(field -> values.put(field.getKey(), field.getValue().asText()));
    return values;
  }
}
