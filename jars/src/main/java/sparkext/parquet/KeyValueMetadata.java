// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.KeyValue;
import sparkext.parquet.Columns.Column;
import sparkext.parquet.Columns.ListOf;
import sparkext.parquet.Columns.MapOf;
import sparkext.parquet.Columns.Struct;
import sparkext.parquet.Columns.Type;

/**
 * Renames columns in the key-value metadata of a footer. Spark's schema gets the new names, and
 * entries that readers need to decode values are kept. All other entries are dropped, because they
 * may contain old names in any form.
 */
final class KeyValueMetadata {
  /** Source: Spark, ParquetReadSupport.scala, {@code SPARK_METADATA_KEY}. */
  private static final String SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata";

  private static final String SPARK = "org.apache.spark.";

  /** Readers need these to decode values. Source: Spark, sql/package.scala. */
  private static final Set<String> VALUE_KEYS =
      Set.of(
          "org.apache.spark.version",
          "org.apache.spark.timeZone",
          "org.apache.spark.legacyDateTime",
          "org.apache.spark.legacyINT96");

  /** Source: Delta 4.4.0, DeltaColumnMapping.scala, {@code COLUMN_MAPPING_METADATA_KEYS}. */
  private static final List<String> MAPPING =
      List.of(
          "delta.columnMapping.id",
          "delta.columnMapping.physicalName",
          "delta.columnMapping.nested.ids",
          "parquet.field.id",
          "parquet.field.nested.ids");

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final ColumnPlan plan;

  /** The schema that was renamed last: files of one writer have the same schema. */
  private String schema;

  private Optional<String> renamedSchema;

  KeyValueMetadata(ColumnPlan plan) {
    this.plan = plan;
  }

  /** Throws if a later Spark wrote a key that readers may need to decode values. */
  void requireKnown(FileMetaData metadata) throws NotCopyableException {
    for (KeyValue entry : entries(metadata)) {
      String key = entry.getKey();
      if (key.startsWith(SPARK) && !key.equals(SPARK_SCHEMA) && !VALUE_KEYS.contains(key)) {
        throw new NotCopyableException("its footer has the unknown key `" + key + "`");
      }
    }
  }

  void rename(FileMetaData metadata) {
    List<KeyValue> kept = new ArrayList<>();
    for (KeyValue entry : entries(metadata)) {
      String key = entry.getKey();
      if (key.equals(SPARK_SCHEMA) && entry.isSetValue()) {
        String written = entry.getValue();
        if (!written.equals(schema)) {
          schema = written;
          renamedSchema = renamed(schema);
        }
        renamedSchema.ifPresent(
            text -> {
              entry.setValue(text);
              kept.add(entry);
            });
      } else if (VALUE_KEYS.contains(key)) {
        kept.add(entry);
      }
    }
    if (metadata.isSetKey_value_metadata()) {
      metadata.setKey_value_metadata(kept);
    }
  }

  private static List<KeyValue> entries(FileMetaData metadata) {
    return metadata.isSetKey_value_metadata() ? metadata.getKey_value_metadata() : List.of();
  }

  /** Returns empty if the plan does not fit the schema: readers then use Parquet's schema. */
  private Optional<String> renamed(String json) {
    try {
      if (plan.byId()
          || !(MAPPER.readTree(json) instanceof ObjectNode struct)
          || !struct.path("type").asText().equals("struct")) {
        return Optional.empty();
      }
      rename(struct, plan.columns(), new HashSet<>(plan.kept()));
      return Optional.of(MAPPER.writeValueAsString(struct));
    } catch (JsonProcessingException | ClassCastException other) {
      return Optional.empty();
    }
  }

  private void rename(ObjectNode struct, Columns columns, Set<String> unchanged) {
    ArrayNode kept = MAPPER.createArrayNode();
    for (JsonNode node : struct.path("fields")) {
      ObjectNode field = (ObjectNode) node;
      String name = field.path("name").asText();
      Optional<Column> column = columns.named(name);
      column.ifPresent(
          known -> {
            field.put("name", known.newName());
            rename(field.path("type"), known.type());
          });
      if (column.isPresent() || unchanged.contains(name)) {
        // The metadata contains the physical name, which is wrong for a renamed column.
        boolean isTrue = plan.keepsIds() && field.path("name").asText().equals(name);
        if (!isTrue && field.path("metadata") instanceof ObjectNode metadata) {
          metadata.remove(MAPPING);
        }
        kept.add(field);
      }
    }
    struct.set("fields", kept);
  }

  private void rename(JsonNode json, Type type) {
    if (type instanceof Struct struct) {
      rename((ObjectNode) json, struct.columns(), Set.of());
    } else if (type instanceof ListOf list) {
      rename(json.path("elementType"), list.element());
    } else if (type instanceof MapOf map) {
      rename(json.path("keyType"), map.key());
      rename(json.path("valueType"), map.value());
    }
  }
}
