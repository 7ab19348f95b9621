// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaThrowable;
import org.apache.spark.sql.delta.DomainMetadataTableFeature$;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.FileResult;
import sparkext.error.UsageTrackingException;
import sparkext.parquet.ColumnPlan;

/**
 * The removal of column mapping that copies files under other names, and rewrites only those whose
 * bytes cannot be copied.
 *
 * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run}.
 */
final class CopiedFiles {
  private static final Logger LOG = LoggerFactory.getLogger(CopiedFiles.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Source: Delta 4.4.0, ClusteringMetadataDomain.scala. */
  private static final String CLUSTERING = "delta.clustering";

  private static final String CLUSTERING_COLUMNS = "clusteringColumns";

  private final RemoveColumnMappingCommand command;
  private final SparkSession session;
  private final OptimisticTransaction transaction;
  private final RenamedKeys keys;
  private final Configuration configuration;
  private final FilePlaces places;
  private final TableFiles files;
  private final FileCounts counts = FileCounts.none();

  /** What Delta has written for this commit, as its actions name it. */
  private final Set<String> rewritten = new HashSet<>();

  /**
   * The removal of a transaction that has switched column mapping off.
   *
   * @param plan of the table as it was before
   */
  CopiedFiles(
      RemoveColumnMappingCommand command,
      SparkSession session,
      OptimisticTransaction transaction,
      ColumnPlan plan) {
    this.command = command;
    this.session = session;
    this.transaction = transaction;
    this.keys = RenamedKeys.of(plan, transaction.metadata());
    this.configuration = command.deltaLog().newDeltaHadoopConf();
    this.places = new FilePlaces(command.deltaLog().dataPath(), transaction.metadata());
    this.files = new TableFiles(session, transaction.snapshot(), configuration, plan);
    transaction.readWholeTable();
  }

  /**
   * Copies and commits. Where that fails, what was written is removed.
   *
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE
   */
  void commit() {
    List<Action> actions;
    try {
      actions = actions();
    } catch (Throwable failure) {
      places.removeAll(rewritten, configuration);
      throw UsageTrackingException.sneak(failure);
    }
    try {
      ColumnMappingRemoval.commit(transaction, actions);
    } catch (Throwable failure) {
      if (failure instanceof DeltaThrowable && !isInLog()) {
        places.removeAll(rewritten, configuration);
      } else {
        LOG.warn("New files stay until VACUUM, for their commit may stand in the log");
      }
      throw UsageTrackingException.sneak(failure);
    }
  }

  private List<Action> actions() {
    List<Action> actions = new ArrayList<>();
    List<AddFile> toRewrite = new ArrayList<>();
    for (FileResult result : files.copied(places)) {
      AddFile file = files.get(result.number());
      switch (result.kind()) {
        case KEPT -> counts.kept(file.size());
        case COPIED -> {
          counts.copied(file.size(), result.size());
          actions.add(removed(file));
          actions.add(copied(file, places.relative(result.target()), result.size()));
        }
        case TO_REWRITE -> {
          LOG.info("{} is rewritten: {}", file.path(), result.reason());
          counts.rewritten(file.size());
          toRewrite.add(file);
        }
        default -> throw new IllegalStateException(result.toString());
      }
    }
    rewrite(toRewrite, actions);
    renamedClustering().ifPresent(actions::add);
    counts.register(session, transaction);
    return actions;
  }

  /** Delta's way, for these files alone. */
  private void rewrite(List<AddFile> toRewrite, List<Action> actions) {
    if (toRewrite.isEmpty()) {
      return;
    }
    Seq<AddFile> some = CollectionConverters.asScala(toRewrite).toList();
    Seq<AddFile> written =
        command.writeData(
            transaction,
            command.buildDataFrame(transaction, some),
            command.getDeltaOptionsForWrite(session));
    toRewrite.forEach(file -> actions.add(removed(file)));
    for (AddFile file : CollectionConverters.asJava(written)) {
      counts.written(file.size());
      rewritten.add(file.path());
      actions.add(file);
    }
  }

  private static Action removed(AddFile file) {
    return file.removeWithTimestamp(System.currentTimeMillis(), /* dataChange= */ false);
  }

  /** The same rows in a file under new names. All else that the log says of it stays. */
  private AddFile copied(AddFile file, String path, long size) {
    try {
      ObjectNode action = (ObjectNode) MAPPER.readTree(file.json());
      ObjectNode add = (ObjectNode) action.required("add");
      add.put("path", path);
      add.put("size", size);
      add.put("modificationTime", System.currentTimeMillis());
      add.put("dataChange", false);
      ObjectNode values = add.putObject("partitionValues");
      keys.partitionValues(CollectionConverters.asJava(file.partitionValues()))
          .forEach(values::put);
      if (file.stats() != null) {
        add.put("stats", keys.statistics(file.stats()));
      }
      return (AddFile) Action$.MODULE$.fromJson(MAPPER.writeValueAsString(action));
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  /** The table's clustering columns, which the log has by their names in files. */
  private Optional<Action> renamedClustering() {
    if (!transaction.protocol().isFeatureSupported(DomainMetadataTableFeature$.MODULE$)) {
      return Optional.empty(); // else Delta computes the state of the table, in a job
    }
    for (DomainMetadata domain :
        CollectionConverters.asJava(transaction.snapshot().domainMetadata())) {
      if (domain.domain().equals(CLUSTERING) && !domain.removed()) {
        return Optional.of(
            new DomainMetadata(CLUSTERING, renamedClustering(domain.configuration()), false));
      }
    }
    return Optional.empty();
  }

  private String renamedClustering(String configuration) {
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

  private boolean isNew(String path) {
    return places.isCopy(path) || rewritten.contains(path);
  }

  /**
   * Whether a commit that failed may stand in the log nevertheless. Its files must stay then, also
   * where a later commit removed them.
   */
  private boolean isInLog() {
    try {
      Iterator<Tuple2<Object, Seq<Action>>> commits =
          command
              .deltaLog()
              .getChanges(
                  transaction.snapshot().version() + 1,
                  command.catalogOpt(),
                  /* failOnDataLoss= */ true);
      return commits.exists(
          commit ->
              CollectionConverters.asJava(commit._2()).stream()
                  .anyMatch(action -> action instanceof AddFile file && isNew(file.path())));
    } catch (Exception unknown) { // Scala declares no checked exception: the storage's are some
      LOG.warn("The log cannot be read after a commit that failed", unknown);
      return true;
    }
  }
}
