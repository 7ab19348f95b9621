// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.delta.ClusteringTableFeature$;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import sparkext.files.RenamedKeys;

/** Renames the clustering columns of a table in its log. */
final class RenamedClustering {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Source: Delta 4.4.0, ClusteringMetadataDomain.scala. */
  private static final String CLUSTERING = "delta.clustering";

  private static final String CLUSTERING_COLUMNS = "clusteringColumns";
  private static final String NO_CLUSTERING = "{\"" + CLUSTERING_COLUMNS + "\":[]}";

  private RenamedClustering() {}

  /**
   * Returns the domain metadata with the new names. If a table supports clustering and has no
   * clustering columns, the domain metadata is empty: without it, a concurrent statement that
   * clusters the table by old names would not conflict.
   */
  static Optional<Action> of(IncrementalSnapshot table, RenamedKeys keys) {
    if (!table.snapshot().protocol().isFeatureSupported(ClusteringTableFeature$.MODULE$)) {
      return Optional.empty();
    }
    String configuration =
        table.domain(CLUSTERING).map(DomainMetadata::configuration).orElse(NO_CLUSTERING);
    return Optional.of(
        new DomainMetadata(CLUSTERING, renamed(configuration, keys), /* removed= */ false));
  }

  private static String renamed(String configuration, RenamedKeys keys) {
    try {
      ObjectNode clustering = (ObjectNode) MAPPER.readTree(configuration);
      ArrayNode columns = MAPPER.createArrayNode();
      for (JsonNode path : clustering.required(CLUSTERING_COLUMNS)) {
        List<String> names = new ArrayList<>();
        path.forEach(name -> names.add(name.textValue()));
        ArrayNode renamed = columns.addArray();
        keys.path(names).forEach(renamed::add);
      }
      clustering.set(CLUSTERING_COLUMNS, columns);
      return MAPPER.writeValueAsString(clustering);
    } catch (JsonProcessingException noClustering) {
      throw new UncheckedIOException(noClustering);
    }
  }
}
