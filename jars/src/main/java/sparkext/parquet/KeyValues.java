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
 * What writers say in a footer besides the format. Spark's schema gets the new names; what Spark
 * says of its values stays; what others say may have any names, in forms of their own, and goes.
 */
final class KeyValues {
  /** Source: Spark, ParquetReadSupport.scala, {@code SPARK_METADATA_KEY}. */
  private static final String SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata";

  private static final String SPARK = "org.apache.spark.";

  /** Source: Spark, sql/package.scala; what values mean depends on them. */
  private static final Set<String> OF_VALUES =
      Set.of(
          "org.apache.spark.version",
          "org.apache.spark.timeZone",
          "org.apache.spark.legacyDateTime",
          "org.apache.spark.legacyINT96");

  /** The schema as Spark 1.0 to 1.2 wrote it. */
  private static final String OLD_SCHEMA = "org.apache.spark.sql.parquet.row.attributes";

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

  /** What was renamed last: files that were written alike say the same. */
  private String schema;

  private Optional<String> renamedSchema;

  KeyValues(ColumnPlan plan) {
    this.plan = plan;
  }

  /** Refuses what a later Spark may say of its values. */
  void requireKnown(FileMetaData metadata) throws NotCopiedException {
    if (!metadata.isSetKey_value_metadata()) {
      return;
    }
    for (KeyValue entry : metadata.getKey_value_metadata()) {
      String key = entry.getKey();
      boolean isSchema = key.equals(SPARK_SCHEMA) || key.equals(OLD_SCHEMA);
      if (key.startsWith(SPARK) && !isSchema && !OF_VALUES.contains(key)) {
        throw new NotCopiedException("its footer has `" + key + "`, which is not known");
      }
    }
  }

  void rename(FileMetaData metadata) {
    if (!metadata.isSetKey_value_metadata()) {
      return;
    }
    List<KeyValue> staying = new ArrayList<>();
    for (KeyValue entry : metadata.getKey_value_metadata()) {
      if (entry.getKey().equals(SPARK_SCHEMA) && entry.isSetValue()) {
        if (!entry.getValue().equals(schema)) {
          schema = entry.getValue();
          renamedSchema = renamed(schema);
        }
        renamedSchema.ifPresent(text -> staying.add(new KeyValue(SPARK_SCHEMA).setValue(text)));
      } else if (OF_VALUES.contains(entry.getKey())) {
        staying.add(entry);
      }
    }
    metadata.setKey_value_metadata(staying);
  }

  /** Nothing where the plan does not fit it: readers then take Parquet's own. */
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

  private void rename(ObjectNode struct, Columns columns, Set<String> kept) {
    ArrayNode staying = MAPPER.createArrayNode();
    for (JsonNode node : struct.path("fields")) {
      ObjectNode field = (ObjectNode) node;
      String name = field.path("name").asText();
      Optional<Column> column = columns.named(name);
      column.ifPresent(
          known -> {
            field.put("name", known.newName());
            rename(field.path("type"), known.type());
          });
      if (column.isPresent() || kept.contains(name)) {
        // It has the physical name as well, which is another one then.
        boolean isTrue = plan.keepsIds() && field.path("name").asText().equals(name);
        if (!isTrue && field.path("metadata") instanceof ObjectNode metadata) {
          metadata.remove(MAPPING);
        }
        staying.add(field);
      }
    }
    struct.set("fields", staying);
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
