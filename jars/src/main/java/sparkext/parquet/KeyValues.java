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
import sparkext.parquet.ColumnPlan.Column;
import sparkext.parquet.ColumnPlan.ListOf;
import sparkext.parquet.ColumnPlan.MapOf;
import sparkext.parquet.ColumnPlan.Struct;
import sparkext.parquet.ColumnPlan.Type;

/**
 * What writers say in a footer besides the format. Spark's schema gets the new names; its other
 * entries have none and stay; those of others may have any, in forms of their own, and go.
 */
final class KeyValues {
  /** Source: Spark, ParquetReadSupport.scala, {@code SPARK_METADATA_KEY}. */
  private static final String SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata";

  private static final String SPARK = "org.apache.spark.";

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

  KeyValues(ColumnPlan plan) {
    this.plan = plan;
  }

  void rename(FileMetaData metadata) {
    if (!metadata.isSetKey_value_metadata()) {
      return;
    }
    List<KeyValue> staying = new ArrayList<>();
    for (KeyValue entry : metadata.getKey_value_metadata()) {
      if (entry.getKey().equals(SPARK_SCHEMA)) {
        renamed(entry.getValue())
            .ifPresent(schema -> staying.add(new KeyValue(SPARK_SCHEMA).setValue(schema)));
      } else if (entry.getKey().startsWith(SPARK)) {
        staying.add(entry);
      }
    }
    metadata.setKey_value_metadata(staying);
  }

  /** Nothing where it is no schema that the plan fits: readers then take Parquet's own. */
  private Optional<String> renamed(String schema) {
    try {
      if (plan.byId() || !(MAPPER.readTree(schema) instanceof ObjectNode struct)) {
        return Optional.empty();
      }
      rename(struct, plan.columns(), new HashSet<>(plan.kept()));
      return Optional.of(MAPPER.writeValueAsString(struct));
    } catch (JsonProcessingException | ClassCastException other) {
      return Optional.empty();
    }
  }

  private static void rename(ObjectNode struct, List<Column> columns, Set<String> kept) {
    ArrayNode staying = MAPPER.createArrayNode();
    for (JsonNode node : struct.path("fields")) {
      ObjectNode field = (ObjectNode) node;
      String name = field.path("name").asText();
      Optional<Column> column =
          columns.stream().filter(known -> known.name().equals(name)).findFirst();
      column.ifPresent(
          known -> {
            field.put("name", known.newName());
            rename(field.path("type"), known.type());
          });
      if (column.isPresent() || kept.contains(name)) {
        if (field.path("metadata") instanceof ObjectNode metadata) {
          metadata.remove(MAPPING);
        }
        staying.add(field);
      }
    }
    struct.set("fields", staying);
  }

  private static void rename(JsonNode json, Type type) {
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
