// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Finds the columns in statistics.
 *
 * <p>Source: Protocol, "Per-file Statistics".
 */
final class StatisticsPaths {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final List<String> BY_COLUMN = List.of("minValues", "maxValues", "nullCount");

  private StatisticsPaths() {}

  /** Returns the sorted paths as a JSON array of arrays; an empty one if there are none. */
  static String of(String statistics) throws JsonProcessingException {
    Map<String, List<String>> paths = new TreeMap<>();
    if (statistics != null && !statistics.isEmpty()) {
      JsonNode parsed = parsed(statistics);
      for (String key : BY_COLUMN) {
        collect(parsed.path(key), paths);
      }
    }
    return MAPPER.writeValueAsString(paths.values());
  }

  /** Adds the path of each value in an object of columns, by its text. */
  static void collect(JsonNode values, Map<String, List<String>> paths)
      throws JsonProcessingException {
    collect(values, List.of(), paths);
  }

  /** Readers ignore statistics that they cannot parse. */
  private static JsonNode parsed(String statistics) {
    try {
      return CommitLines.JSON.readTree(statistics);
    } catch (JsonProcessingException broken) {
      return MissingNode.getInstance();
    }
  }

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
