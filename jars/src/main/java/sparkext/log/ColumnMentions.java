// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Collects the columns of which a file of a log may contain data: in statistics, partition values,
 * schemas, and texts that may contain values.
 *
 * <p>The lists of keys without values are here, because tasks apply them. Metrics and transaction
 * ids would put each commit into a separate group.
 *
 * <p>Source: Protocol, "Actions", "Per-file Statistics", "Checkpoints"; Delta 4.4.0,
 * DeltaOperations.scala, for the parameters of operations.
 */
final class ColumnMentions {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Fails for what other readers ignore: bytes after the first value, and duplicate keys. */
  private static final ObjectReader READER =
      CommitLines.JSON
          .reader()
          .with(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .with(StreamReadFeature.STRICT_DUPLICATE_DETECTION);

  private static final String MAPPING = "delta.columnMapping.";
  private static final String CONSTRAINT = "delta.constraints.";

  /** Parameters without values of columns. */
  private static final Set<String> WITHOUT_VALUES =
      Set.of(
          "partitionBy",
          "clusterBy",
          "zOrderBy",
          "mode",
          "outputMode",
          "queryId",
          "epochId",
          "properties",
          "oldColumnPath",
          "newColumnPath",
          "oldClusteringColumns",
          "newClusteringColumns",
          "featureName");

  /** Keys of {@code commitInfo} without values of columns. A writer may add others. */
  private static final Set<String> ABOUT_THE_COMMIT =
      Set.of(
          "version",
          "timestamp",
          "inCommitTimestamp",
          "userId",
          "userName",
          "operation",
          "operationParameters",
          "operationMetrics",
          "job",
          "notebook",
          "clusterId",
          "readVersion",
          "isolationLevel",
          "isBlindAppend",
          "engineInfo",
          "clientVersion",
          "txnId");

  private static final Pattern NO_TEXT = Pattern.compile("|true|false|\\[]|[-+.\\d]+");

  private final Set<String> schemas = new TreeSet<>();
  private final Map<String, List<String>> statistics = new TreeMap<>();
  private final Set<String> partitionColumns = new TreeSet<>();
  private final Set<String> folders = new TreeSet<>();
  private final Set<String> texts = new TreeSet<>();
  private String problem;

  /** Returns the group of one file. */
  LogFiles in(String kind, long size, Long version, Long under) {
    return new LogFiles(
        kind,
        1,
        size,
        version,
        under,
        List.copyOf(schemas),
        List.copyOf(statistics.values()),
        List.copyOf(partitionColumns),
        List.copyOf(folders),
        List.copyOf(texts),
        problem);
  }

  /** Returns the mentions of a file, or of a part of a file. */
  LogFiles all() {
    return in("", 0, null, null);
  }

  /** Adds the mentions of another part of the same file. */
  void add(LogFiles part) {
    schemas.addAll(part.schemas());
    part.statistics().forEach(this::addStatistics);
    partitionColumns.addAll(part.partitionColumns());
    folders.addAll(part.folders());
    texts.addAll(part.texts());
    problem = problem == null ? part.problem() : problem;
  }

  boolean hasFailed() {
    return problem != null;
  }

  void fail(String reason) {
    problem = reason;
  }

  /** Adds a line of JSON, or a file that is one object. */
  void addJson(String text) {
    try {
      walk(READER.readTree(text));
    } catch (JsonProcessingException broken) {
      problem = "it has a line that is not valid JSON";
    }
  }

  void addPartitionColumn(String name) {
    partitionColumns.add(name);
  }

  void addStatistics(List<String> path) {
    try {
      statistics.put(MAPPER.writeValueAsString(path), path);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private void walk(JsonNode node) throws JsonProcessingException {
    for (JsonNode element : node.isArray() ? node : MAPPER.createArrayNode()) {
      walk(element);
    }
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      JsonNode value = field.getValue();
      switch (field.getKey()) {
        case "commitInfo" -> addOperation(object(value));
        case "metaData", "metadata" -> addMetadata(object(value));
        case "stats" -> addStatistics(value);
        case "stats_parsed" -> addStatisticsByKind(value);
        case "partitionValues", "partitionValues_parsed" ->
            object(value).fieldNames().forEachRemaining(partitionColumns::add);
        case "path" -> folders.addAll(DataFooter.folders(DataFooter.place(value.asText())));
        default -> walk(value);
      }
    }
  }

  private void addMetadata(JsonNode metadata) {
    if (metadata.hasNonNull("schemaString")) {
      schemas.add(text(metadata.get("schemaString")));
    }
    for (Map.Entry<String, JsonNode> property : metadata.path("configuration").properties()) {
      if (property.getKey().toLowerCase(Locale.ROOT).startsWith(CONSTRAINT)) {
        texts.add(text(property.getValue()));
      }
    }
  }

  /** Adds statistics: a text, or an object, which Spark's JSON reader takes as its text. */
  private void addStatistics(JsonNode value) throws JsonProcessingException {
    if (!value.isTextual()) {
      addStatisticsByKind(value);
    } else if (!value.textValue().isEmpty()) {
      try {
        addStatisticsByKind(READER.readTree(value.textValue()));
      } catch (JsonProcessingException broken) {
        problem = "it has statistics that are not valid JSON";
      }
    }
  }

  /** Adds every kind of statistics, under any name. */
  private void addStatisticsByKind(JsonNode kinds) throws JsonProcessingException {
    for (JsonNode kind : object(kinds)) {
      if (kind.isObject()) {
        StatisticsPaths.collect(kind, statistics);
      } else if (kind.isArray() || kind.isTextual()) {
        problem = "it has statistics that are not by column";
      }
    }
  }

  /** Returns an object, which is empty for null. Any other value is a problem. */
  private JsonNode object(JsonNode value) {
    if (!value.isObject() && !value.isNull()) {
      problem = "it has a field that is no object";
    }
    return value.isObject() ? value : MAPPER.createObjectNode();
  }

  private void addOperation(JsonNode commit) {
    boolean isDrop = commit.path("operation").asText().equals("DROP COLUMNS");
    for (Map.Entry<String, JsonNode> parameter : commit.path("operationParameters").properties()) {
      String text = text(parameter.getValue());
      boolean isOfColumns = List.of("column", "columns").contains(parameter.getKey());
      boolean isNameOnly = isOfColumns && (isDrop || !hasMetadata(text));
      if (!isNameOnly
          && !WITHOUT_VALUES.contains(parameter.getKey())
          && !NO_TEXT.matcher(text).matches()) {
        texts.add(text);
      }
    }
    for (Map.Entry<String, JsonNode> field : commit.properties()) {
      String text = text(field.getValue());
      if (!ABOUT_THE_COMMIT.contains(field.getKey()) && !NO_TEXT.matcher(text).matches()) {
        texts.add(text);
      }
    }
  }

  private static String text(JsonNode value) {
    if (value.isContainerNode()) {
      return value.toString();
    }
    return value.isNull() ? "" : value.asText();
  }

  /** Returns whether columns have metadata that may be values, such as defaults. */
  private static boolean hasMetadata(String columns) {
    try {
      for (JsonNode metadata : MAPPER.readTree(columns).findValues("metadata")) {
        for (String key : (Iterable<String>) metadata::fieldNames) {
          if (!key.startsWith(MAPPING)) {
            return true;
          }
        }
      }
      return false;
    } catch (JsonProcessingException noJson) {
      return true;
    }
  }
}
