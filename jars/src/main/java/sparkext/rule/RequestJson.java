// SPDX-License-Identifier: Apache-2.0
package sparkext.rule;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Set;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.UsageTrackingErrors;
import sparkext.UsageTrackingException;

/** Metadata changes and answers as JSON; {@code spark_ext/wire.py} describes the shape. */
final class MetadataJson {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final JsonFactory FACTORY = MAPPER.getFactory();

  private MetadataJson() {}

  /** What stands in a JSON object. */
  private interface Fields {
    void write(JsonGenerator json) throws IOException;
  }

  static String request(MetadataChange change) {
    return object(
        json -> {
          writeMetadata(json, "old", change.old(), null, null);
          writeMetadata(json, "proposed", change.proposed(), change.old(), null);
          writeMetadata(json, "new", change.assigned(), change.old(), change.proposed());
          json.writeObjectFieldStart("commit");
          writeProtocol(json, change.protocol());
          json.writeBooleanField("creatingTable", change.creatingTable());
          json.writeBooleanField("enabledByDefault", change.enabledByDefault());
          json.writeBooleanField("featureDefault", change.featureDefault());
          json.writeBooleanField("flagDefault", change.flagDefault());
          json.writeEndObject();
        });
  }

  static String removalRequest(Protocol protocol, Metadata table) {
    return object(
        json -> {
          writeMetadata(json, "table", table, null, null);
          writeProtocol(json, protocol);
        });
  }

  static String tableFacts(String name, Snapshot snapshot) {
    return object(
        json -> {
          writeMetadata(json, "table", snapshot.metadata(), null, null);
          writeProtocol(json, snapshot.protocol());
          json.writeStringField("name", name);
          json.writeNumberField("numFiles", snapshot.numOfFiles());
          json.writeNumberField("sizeInBytes", snapshot.sizeInBytes());
        });
  }

  private static String object(Fields fields) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      json.writeStartObject();
      fields.write(json);
      json.writeEndObject();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return text.toString();
  }

  /** What an earlier schema has is named, not repeated: wide schemas are megabytes. */
  private static void writeMetadata(
      JsonGenerator json, String name, Metadata metadata, Metadata old, Metadata proposed)
      throws IOException {
    json.writeObjectFieldStart(name);
    json.writeFieldName("schema");
    String schema = metadata.schemaString();
    if (schema == null) {
      json.writeNull();
    } else if (old != null && schema.equals(old.schemaString())) {
      json.writeString("=old");
    } else if (proposed != null && schema.equals(proposed.schemaString())) {
      json.writeString("=proposed");
    } else if (old != null && old.schemaString() != null) {
      writeDifference(json, metadata.schema(), old.schema());
    } else {
      json.writeRawValue(schema);
    }
    json.writeObjectFieldStart("configuration");
    for (Map.Entry<String, String> property :
        CollectionConverters.asJava(metadata.configuration()).entrySet()) {
      json.writeStringField(property.getKey(), property.getValue());
    }
    json.writeEndObject();
    json.writeEndObject();
  }

  /** A schema with the number of the place in {@code known} for each column that is there too. */
  private static void writeDifference(JsonGenerator json, StructType schema, StructType known)
      throws IOException {
    Map<String, Integer> places = new HashMap<>();
    StructField[] knownFields = known.fields();
    for (int place = 0; place < knownFields.length; place++) {
      places.put(knownFields[place].name(), place);
    }
    json.writeStartObject();
    json.writeStringField("type", "struct");
    json.writeArrayFieldStart("fields");
    for (StructField field : schema.fields()) {
      Integer place = places.get(field.name());
      if (place != null && knownFields[place].equals(field)) {
        json.writeNumber(place);
      } else {
        JsonNode alone = MAPPER.readTree(new StructType(new StructField[] {field}).json());
        json.writeRawValue(alone.get("fields").get(0).toString());
      }
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void writeProtocol(JsonGenerator json, Protocol protocol) throws IOException {
    json.writeObjectFieldStart("protocol");
    json.writeNumberField("minReaderVersion", protocol.minReaderVersion());
    json.writeNumberField("minWriterVersion", protocol.minWriterVersion());
    writeFeatures(json, "readerFeatures", protocol.readerFeatures());
    writeFeatures(json, "writerFeatures", protocol.writerFeatures());
    json.writeEndObject();
  }

  private static void writeFeatures(JsonGenerator json, String name, Option<Set<String>> features)
      throws IOException {
    json.writeFieldName(name);
    if (features.isEmpty()) {
      json.writeNull();
      return;
    }
    json.writeStartArray();
    for (String feature : CollectionConverters.asJava(features.get())) {
      json.writeString(feature);
    }
    json.writeEndArray();
  }

  /**
   * {@code assigned} with the answer's configuration and, where it has one, schema.
   *
   * @throws UsageTrackingException the refusal in the answer; USAGE_TRACKING_MALFORMED_MESSAGE for
   *     text that is no answer
   */
  static Metadata answer(String text, Metadata assigned) throws UsageTrackingException {
    JsonNode answer = accepted(text);
    JsonNode schema = answer.path("schema");
    JsonNode configuration = answer.path("configuration");
    if (!hasTextsOnly(configuration) || !(schema.isNull() || schema.isObject())) {
      throw noAnswer(text, null);
    }
    Metadata decided =
        assigned.copy(
            assigned.id(),
            assigned.name(),
            assigned.description(),
            assigned.format(),
            schema.isNull() ? assigned.schemaString() : schemaString(schema, assigned, text),
            assigned.partitionColumns(),
            scala.collection.immutable.Map$.MODULE$.from(
                CollectionConverters.asScala(strings(configuration))),
            assigned.createdTime());
    try {
      // Delta reads it next and keeps it, so this costs nothing.
      decided.schema();
      return decided;
    } catch (RuntimeException noSchema) {
      throw noAnswer(text, noSchema);
    }
  }

  /** The text of an answer's schema, in which numbers stand for columns of {@code assigned}. */
  private static String schemaString(JsonNode schema, Metadata assigned, String text)
      throws UsageTrackingException {
    if (!schema.path("fields").isArray()) {
      throw noAnswer(text, null);
    }
    JsonNode known = parse(assigned.schemaString()).path("fields");
    ArrayNode fields = MAPPER.createArrayNode();
    for (JsonNode field : schema.path("fields")) {
      JsonNode column = field.isInt() ? known.path(field.intValue()) : field;
      if (!column.isObject()) {
        throw noAnswer(text, null);
      }
      fields.add(column);
    }
    return ((ObjectNode) schema).set("fields", fields).toString();
  }

  private static boolean hasTextsOnly(JsonNode object) {
    return object.isObject() && object.valueStream().allMatch(JsonNode::isTextual);
  }

  /**
   * Whether the answer to a {@link #removalRequest} says that metadata alone is enough.
   *
   * @throws UsageTrackingException as {@link #answer}
   */
  static boolean isFree(String text) throws UsageTrackingException {
    JsonNode answer = accepted(text);
    if (!answer.path("reasons").isArray()) {
      throw noAnswer(text, null);
    }
    return answer.get("reasons").isEmpty();
  }

  /**
   * The answer of a table function.
   *
   * @throws UsageTrackingException as {@link #answer}
   */
  static Relation relation(String text) throws UsageTrackingException {
    JsonNode answer = accepted(text);
    if (!answer.path("schema").isTextual() || !answer.path("rows").isArray()) {
      throw noAnswer(text, null);
    }
    try {
      StructType schema = StructType.fromDDL(answer.get("schema").textValue());
      return new Relation(schema, rows(answer.get("rows"), schema));
    } catch (Exception unfit) { // Scala declares no checked exception: fromDDL's is one
      throw noAnswer(text, unfit);
    }
  }

  private static List<Row> rows(JsonNode rows, StructType schema) {
    return rows.valueStream().map(row -> (Row) value(row, schema)).toList();
  }

  /** Strict, unlike Spark's own reader: what does not fit would become null, or no row at all. */
  private static Object value(JsonNode json, DataType type) {
    if (type instanceof StructType struct && json.isObject() && hasFieldsOf(json, struct)) {
      return RowFactory.create(
          Arrays.stream(struct.fields())
              .map(field -> nullOrValue(json.get(field.name()), field.dataType()))
              .toArray());
    }
    if (type instanceof ArrayType array && json.isArray()) {
      return json.valueStream().map(element -> value(element, array.elementType())).toList();
    }
    if (type instanceof StringType && json.isTextual()) {
      return json.textValue();
    }
    if (type instanceof LongType && json.canConvertToLong() && json.isIntegralNumber()) {
      return json.longValue();
    }
    if (type instanceof BooleanType && json.isBoolean()) {
      return json.booleanValue();
    }
    throw new IllegalArgumentException(json + " is no " + type.sql());
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
      JsonNode node = MAPPER.readTree(text);
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

  private static Map<String, String> strings(JsonNode object) {
    Map<String, String> values = new LinkedHashMap<>();
    object.properties().forEach(field -> values.put(field.getKey(), field.getValue().asText()));
    return values;
  }
}
