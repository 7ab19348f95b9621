// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Set;
import scala.jdk.javaapi.CollectionConverters;

/** Questions as JSON; {@code spark_ext/wire/messages.py} describes the shape. */
public final class RequestJson {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final JsonFactory FACTORY = MAPPER.getFactory();
  private static final String DELTA_PREFIX = "delta.";

  private RequestJson() {}

  /** What stands in a JSON object. */
  private interface Fields {
    void write(JsonGenerator json) throws IOException;
  }

  /** What {@code next_metadata} is asked about. */
  static String metadataChange(MetadataChange change) {
    return object(
        json -> {
          writeMetadata(json, "old", change.old(), null, null);
          writeMetadata(json, "proposed", change.proposed(), change.old(), null);
          writeMetadata(json, "assigned", change.assigned(), change.old(), change.proposed());
          json.writeObjectFieldStart("commit");
          writeProtocol(json, change.protocol());
          json.writeBooleanField("creatingTable", change.creatingTable());
          json.writeBooleanField("enabledByDefault", change.enabledByDefault());
          json.writeBooleanField("featureDefault", change.featureDefault());
          json.writeBooleanField("flagDefault", change.flagDefault());
          json.writeEndObject();
        });
  }

  /** What {@code removal} is asked about. */
  static String removal(Protocol protocol, Metadata table) {
    return object(
        json -> {
          writeMetadata(json, "table", table, null, null);
          writeProtocol(json, protocol);
        });
  }

  /**
   * What a table function is told that reads the schema and where it came from.
   *
   * @param log as {@code sparkext.log.LoggedTable} reads it
   */
  public static String tableAndLog(Snapshot snapshot, String log) {
    return object(
        json -> {
          writeMetadata(json, "table", snapshot.metadata(), null, null);
          writeLog(json, log);
        });
  }

  /**
   * What a table function is told that reads the log alone.
   *
   * @param log as {@code sparkext.log.LoggedTable} reads it
   */
  public static String log(String name, String log) {
    return object(
        json -> {
          json.writeStringField("name", name);
          writeLog(json, log);
        });
  }

  private static void writeLog(JsonGenerator json, String log) throws IOException {
    json.writeFieldName("log");
    json.writeRawValue(log);
  }

  /**
   * What a table function is told that needs the files' number and size.
   *
   * @param files those of the version
   * @param removal the session's setting, or null
   * @param exact what becomes of the files, or null
   */
  public static String tableFacts(
      String name,
      Snapshot snapshot,
      CountedFiles.Count files,
      String removal,
      CountedFiles exact) {
    return object(
        json -> {
          writeMetadata(json, "table", snapshot.metadata(), null, null);
          writeProtocol(json, snapshot.protocol());
          json.writeStringField("name", name);
          writeCount(json, "files", files);
          json.writeStringField("removal", removal);
          if (exact == null) {
            json.writeNullField("exact");
          } else {
            json.writeObjectFieldStart("exact");
            writeCount(json, "kept", exact.kept());
            writeCount(json, "copied", exact.copied());
            writeCount(json, "rewritten", exact.rewritten());
            json.writeEndObject();
          }
        });
  }

  /**
   * The tables of a survey, each with what {@link #tableFacts} says of it or with its error.
   *
   * <p>As text of its own: a schema that only Delta reads as JSON spoils no other table's.
   */
  public static String survey(List<SurveyedTable> tables) {
    return object(
        json -> {
          json.writeArrayFieldStart("tables");
          for (SurveyedTable table : tables) {
            json.writeStartObject();
            json.writeStringField("name", table.name());
            json.writeStringField("facts", table.facts());
            json.writeStringField("error", table.error());
            json.writeStringField("message", table.message());
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }

  private static void writeCount(JsonGenerator json, String name, CountedFiles.Count count)
      throws IOException {
    json.writeObjectFieldStart(name);
    json.writeNumberField("numFiles", count.numFiles());
    json.writeNumberField("sizeInBytes", count.sizeInBytes());
    json.writeEndObject();
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
    writeConfiguration(json, metadata, old, proposed);
    json.writeEndObject();
  }

  private static void writeConfiguration(
      JsonGenerator json, Metadata metadata, Metadata old, Metadata proposed) throws IOException {
    json.writeFieldName("configuration");
    if (old != null && metadata.configuration().equals(old.configuration())) {
      json.writeString("=old");
    } else if (proposed != null && metadata.configuration().equals(proposed.configuration())) {
      json.writeString("=proposed");
    } else {
      json.writeStartObject();
      for (Map.Entry<String, String> property :
          CollectionConverters.asJava(metadata.configuration()).entrySet()) {
        if (isRead(property.getKey())) {
          json.writeStringField(property.getKey(), property.getValue());
        }
      }
      json.writeEndObject();
    }
  }

  /** No rule reads a user's own properties. */
  private static boolean isRead(String key) {
    return key.regionMatches(/* ignoreCase= */ true, 0, DELTA_PREFIX, 0, DELTA_PREFIX.length());
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
}
