// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.delta.stats.DeltaStatistics;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.Columns;
import sparkext.parquet.Columns.Column;
import sparkext.parquet.Columns.Struct;

/**
 * Renames the columns in statistics, partition values and clustering columns of the log.
 *
 * <p>Source: Protocol, "Per-file Statistics", "Clustered Table", "Column Mapping".
 */
public final class RenamedKeys {
  private static final JsonFactory FACTORY = new JsonFactory();

  /** The statistics that are objects with a field for each column. */
  private static final Set<String> BY_COLUMN =
      Set.of(DeltaStatistics.MIN(), DeltaStatistics.MAX(), DeltaStatistics.NULL_COUNT());

  private final Columns columns;

  /** The names of partition columns in files, by their new names. */
  private final Map<String, String> partitionColumns;

  private RenamedKeys(Columns columns, Map<String, String> partitionColumns) {
    this.columns = columns;
    this.partitionColumns = partitionColumns;
  }

  /**
   * Returns the renames of a plan.
   *
   * @param partitionColumns the new names of the partition columns
   */
  static RenamedKeys of(ColumnPlan plan, List<String> partitionColumns) {
    Map<String, String> byNewName = new LinkedHashMap<>();
    for (String name : partitionColumns) {
      byNewName.put(name, plan.columns().nameOf(name));
    }
    return new RenamedKeys(plan.columns(), byNewName);
  }

  /**
   * Statistics with the new names.
   *
   * @param json null if the file has none
   * @param isRenamed whether a column was renamed or dropped
   */
  public record Statistics(String json, boolean isRenamed) {}

  /**
   * Renames columns in the statistics of a file, and drops those of dropped columns. Numbers are
   * copied as text.
   *
   * @throws UncheckedIOException if the statistics are not a JSON object
   */
  Statistics statistics(String json) {
    if (json == null || json.isBlank()) {
      return new Statistics(json, false);
    }
    boolean isRenamed = false;
    StringWriter renamed = new StringWriter(json.length());
    try (JsonParser parser = FACTORY.createParser(json);
        JsonGenerator generator = FACTORY.createGenerator(renamed)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new IOException("The statistics of a file are not a JSON object: " + json);
      }
      generator.writeStartObject();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        generator.writeFieldName(name);
        if (parser.nextToken() == JsonToken.START_OBJECT && BY_COLUMN.contains(name)) {
          isRenamed |= copyColumns(parser, generator, columns);
        } else {
          copy(parser, generator);
        }
      }
      generator.writeEndObject();
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
    return new Statistics(renamed.toString(), isRenamed);
  }

  /**
   * Renames partition values, in the order of the table's partition columns. A value is null if
   * Delta finds none; Delta ignores all other keys.
   */
  Map<String, String> partitionValues(Map<String, String> values) {
    Map<String, String> renamed = new LinkedHashMap<>();
    partitionColumns.forEach((newName, name) -> renamed.put(newName, values.get(name)));
    return renamed;
  }

  /** Renames the path of a column. */
  public List<String> path(List<String> names) {
    List<String> renamed = new ArrayList<>();
    Columns level = columns;
    for (String name : names) {
      Optional<Column> column = level.named(name);
      renamed.add(column.map(Column::newName).orElse(name));
      level =
          column.isPresent() && column.get().type() instanceof Struct struct
              ? struct.columns()
              : Columns.NONE;
    }
    return renamed;
  }

  /** Copies an object of columns, and returns whether a column was renamed or dropped. */
  private boolean copyColumns(JsonParser parser, JsonGenerator generator, Columns level)
      throws IOException {
    boolean isRenamed = false;
    generator.writeStartObject();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      Optional<Column> column = level.named(name);
      isRenamed |= column.isEmpty() || !column.get().newName().equals(name);
      boolean isObject = parser.nextToken() == JsonToken.START_OBJECT;
      if (column.isEmpty()) {
        parser.skipChildren();
        continue;
      }
      generator.writeFieldName(column.get().newName());
      if (isObject && column.get().type() instanceof Struct struct) {
        isRenamed |= copyColumns(parser, generator, struct.columns());
      } else {
        copy(parser, generator);
      }
    }
    generator.writeEndObject();
    return isRenamed;
  }

  /** Copies the current value. Numbers are copied as text, which a double would change. */
  private static void copy(JsonParser parser, JsonGenerator generator) throws IOException {
    JsonToken token = parser.currentToken();
    if (token.isNumeric()) {
      generator.writeNumber(parser.getText());
    } else if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
      generator.copyCurrentEvent(parser);
      JsonToken next;
      while ((next = parser.nextToken()) != JsonToken.END_OBJECT && next != JsonToken.END_ARRAY) {
        if (next == JsonToken.FIELD_NAME) {
          generator.writeFieldName(parser.currentName());
        } else {
          copy(parser, generator);
        }
      }
      generator.copyCurrentEvent(parser);
    } else {
      generator.copyCurrentEvent(parser);
    }
  }
}
