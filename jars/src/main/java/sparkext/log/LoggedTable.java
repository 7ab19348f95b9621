// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkThrowable;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.classic.SparkSession;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;

/**
 * A table's log as the rule process gets it, read in Spark jobs without Delta: what a foreign
 * writer left there may be nothing that Delta opens.
 *
 * <p>{@code spark_ext/wire/logs.py} describes the shape.
 */
public final class LoggedTable {
  private static final JsonFactory FACTORY = new JsonFactory();

  /** Source: Spark, SparkContext.scala, {@code SPARK_JOB_DESCRIPTION}. */
  private static final String DESCRIPTION = "spark.job.description";

  private final SparkSession session;
  private final Configuration configuration;
  private final Path table;
  private final LogListing log;

  /**
   * @param table its absolute path
   */
  public LoggedTable(SparkSession session, Configuration configuration, Path table)
      throws IOException {
    this.session = session;
    this.configuration = configuration;
    this.table = table;
    this.log = LogListing.of(table, configuration);
  }

  /** Whether there is neither a commit nor a checkpoint. */
  public boolean isMissing() {
    return log.isEmpty();
  }

  /** What changed the table's metadata, as JSON. */
  public String metadata() throws IOException {
    return described("reads the log", () -> json(/* withFiles= */ false, null));
  }

  /**
   * What changed the table's metadata, and what its data files are, as JSON.
   *
   * @param sample of so many files the footers are read; null for all
   */
  public String metadataAndFiles(Integer sample) throws IOException {
    return described("reads the log and footers", () -> json(/* withFiles= */ true, sample));
  }

  private interface Reading {
    String read() throws IOException;
  }

  private String described(String doing, Reading reading) throws IOException {
    JavaSparkContext context = context();
    String before = context.getLocalProperty(DESCRIPTION);
    context.setLocalProperty(DESCRIPTION, "Column mapping of " + table + ": " + doing);
    try {
      return reading.read();
    } catch (Exception failed) { // Scala declares no checked exception: SparkException is one
      throw asUnreadable(failed);
    } finally {
      context.setLocalProperty(DESCRIPTION, before);
    }
  }

  /** What Spark says of a file that it cannot read, in our words. */
  private static RuntimeException asUnreadable(Exception failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof SparkThrowable known
          && known.getCondition() != null
          && known.getCondition().startsWith("FAILED_READ_FILE")) {
        Throwable reason = cause.getCause() == null ? cause : cause.getCause();
        String path = known.getMessageParameters().get("path");
        return UsageTrackingErrors.unreadableLog(path, firstLine(reason)).sneak();
      }
    }
    return UsageTrackingException.sneak(failed);
  }

  private static String firstLine(Throwable reason) {
    return String.valueOf(reason.getMessage()).lines().findFirst().orElse("");
  }

  private String json(boolean withFiles, Integer sample) throws IOException {
    LogListing read = withFiles ? log : log.forMetadata();
    Actions found = Actions.of(session, configuration, read);
    StringWriter text = new StringWriter();
    try (JsonGenerator json = FACTORY.createGenerator(text)) {
      json.writeStartObject();
      json.writeNumberField("lastVersion", log.lastVersion());
      writeNumber(json, "firstCommit", first(log.commits()));
      writeNumber(json, "hintedCheckpoint", log.hintedCheckpoint());
      List<Long> changes = writeCommits(json, found);
      writeSummaries(json, read, found);
      json.writeFieldName("files");
      if (withFiles) {
        json.writeRawValue(
            new AuditedFiles(session, configuration, table, log, changes).json(sample));
      } else {
        json.writeNull();
      }
      json.writeEndObject();
    }
    return text.toString();
  }

  /** Writes the commits that change metadata or protocol; returns those that change metadata. */
  private List<Long> writeCommits(JsonGenerator json, Actions found) throws IOException {
    List<Long> changes = new ArrayList<>();
    json.writeArrayFieldStart("commits");
    for (LogListing.Commit commit : log.commits()) {
      List<JsonNode> actions = found.in(List.of(commit.path()));
      boolean isChange = Actions.has(actions, "metaData");
      if (isChange) {
        changes.add(commit.version());
      }
      if (isChange || Actions.has(actions, "protocol")) {
        json.writeStartObject();
        json.writeNumberField("version", commit.version());
        json.writeNumberField("time", commit.time());
        writeActions(json, actions);
        json.writeEndObject();
      }
    }
    json.writeEndArray();
    return changes;
  }

  private static void writeSummaries(JsonGenerator json, LogListing log, Actions found)
      throws IOException {
    json.writeArrayFieldStart("summaries");
    for (LogListing.Checkpoint checkpoint : log.checkpoints()) {
      writeSummary(
          json,
          checkpoint.parts().get(0),
          checkpoint.version(),
          null,
          found.in(checkpoint.parts()));
    }
    for (LogListing.Compaction compaction : log.compactions()) {
      writeSummary(
          json,
          compaction.path(),
          compaction.version(),
          compaction.firstVersion(),
          found.in(List.of(compaction.path())));
    }
    json.writeEndArray();
  }

  private static void writeSummary(
      JsonGenerator json, Path file, long version, Long firstVersion, List<JsonNode> actions)
      throws IOException {
    json.writeStartObject();
    json.writeStringField("file", file.getName());
    json.writeNumberField("version", version);
    writeNumber(json, "firstVersion", firstVersion);
    writeActions(json, actions);
    json.writeEndObject();
  }

  private static void writeActions(JsonGenerator json, List<JsonNode> actions) throws IOException {
    json.writeArrayFieldStart("actions");
    for (JsonNode action : actions) {
      json.writeRawValue(action.toString());
    }
    json.writeEndArray();
  }

  private static void writeNumber(JsonGenerator json, String name, Long value) throws IOException {
    if (value == null) {
      json.writeNullField(name);
    } else {
      json.writeNumberField(name, value);
    }
  }

  private static Long first(List<LogListing.Commit> commits) {
    return commits.isEmpty() ? null : commits.get(0).version();
  }

  private JavaSparkContext context() {
    return JavaSparkContext.fromSparkContext(session.sparkContext());
  }
}
