// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.StructType;

/**
 * Computes the key of each action's file, as a Spark task. Statistics are reduced to their paths,
 * so that Spark shuffles less data.
 *
 * @param root the table's folder, as {@link DataFolder#root}
 * @param storage the URI of the session's default storage
 * @param schema the schema of the actions
 * @param ofFolder true to add rows for the files of deletion vectors, and to use one key for all
 *     paths of a file
 */
record FileKeys(String root, URI storage, StructType schema, boolean ofFolder)
    implements FlatMapFunction<Row, Row> {
  @Override
  public Iterator<Row> call(Row action) throws IOException {
    String path = action.getAs("path");
    String key = ofFolder ? DataFolder.key(root, path) : DataFolder.keyInLog(storage, path);
    String vector = ofFolder ? LoggedVector.path(action.getAs("deletionVector")) : null;
    Object[] values = IntStream.range(0, action.length()).mapToObj(action::get).toArray();
    values[schema.fieldIndex("key")] = key;
    values[schema.fieldIndex("statistics")] = StatisticsPaths.of(action.getAs("statistics"));
    return Stream.of(values, vector == null ? null : ofVector(values, key, vector))
        .filter(row -> row != null)
        .map(RowFactory::create)
        .iterator();
  }

  /** Returns the row of a vector's file, which is live as long as one of its data files is. */
  private Object[] ofVector(Object[] ofFile, String key, String vector) throws IOException {
    Object[] values = ofFile.clone();
    int place = schema.fieldIndex("vector");
    values[place] = key + "@" + ofFile[place];
    values[schema.fieldIndex("key")] = DataFolder.key(root, vector);
    values[schema.fieldIndex("path")] = vector;
    values[schema.fieldIndex("isVector")] = true;
    values[schema.fieldIndex("size")] = null;
    values[schema.fieldIndex("partitionColumns")] = new String[0];
    values[schema.fieldIndex("statistics")] = StatisticsPaths.of(null);
    return values;
  }

  /**
   * Finds the columns in statistics.
   *
   * <p>Source: Protocol, "Per-file Statistics".
   */
  static final class StatisticsPaths {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final List<String> BY_COLUMN = List.of("minValues", "maxValues", "nullCount");

    private StatisticsPaths() {}

    /** Returns the sorted paths as a JSON array of arrays; an empty one if there are none. */
    static String of(String statistics) throws JsonProcessingException {
      Map<String, List<String>> paths = new TreeMap<>();
      JsonNode parsed = parsed(statistics);
      for (String key : BY_COLUMN) {
        collect(parsed.path(key), List.of(), paths);
      }
      return MAPPER.writeValueAsString(paths.values());
    }

    /** Readers ignore statistics that they cannot parse. */
    private static JsonNode parsed(String statistics) {
      try {
        return CommitLines.JSON.readTree(statistics == null ? "" : statistics);
      } catch (JsonProcessingException broken) {
        return MissingNode.getInstance();
      }
    }

    /** Adds the path of each value in an object of columns, by its text. */
    private static void collect(
        JsonNode values, List<String> parents, Map<String, List<String>> paths)
        throws JsonProcessingException {
      if (!values.isObject()) {
        if (!parents.isEmpty()) {
          paths.put(MAPPER.writeValueAsString(parents), parents);
        }
        return;
      }
      for (String name : (Iterable<String>) values::fieldNames) {
        List<String> path = new ArrayList<>(parents);
        path.add(name);
        collect(values.get(name), path, paths);
      }
    }
  }
}
