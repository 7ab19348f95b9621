// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.log.TableLog;
import sparkext.log.TableLog.FileCount;
import sparkext.log.TableLog.Moment;

/**
 * The questions to the rule process. The keys of their JSON are the components of the records.
 *
 * <p>{@code spark_ext/process} reads them as dataclasses, which document each component. {@code
 * tests/unit/test_messages.py} compares the names.
 */
public sealed interface Question {
  /** Asks for the metadata to commit. */
  record MetadataChange(
      TableMetadata old, TableMetadata proposed, TableMetadata assigned, CommitContext commit)
      implements Question {}

  /** Asks how a table may remove column mapping. */
  record Removal(TableMetadata table, TableProtocol protocol, boolean copies) implements Question {}

  /** Asks for the plan of a purge. */
  record Purge(TableMetadata table) implements Question {}

  /**
   * A table that a table function is called with.
   *
   * @param metadata null unless the function lists the columns
   * @param folder null unless the function looks for dropped columns
   */
  record TableQuestion(String name, TableMetadata metadata, TableLog log, Folder folder)
      implements Question {
    /** Asks a function that lists the columns of a version. */
    public TableQuestion(String name, Snapshot snapshot, TableLog log) {
      this(name, TableMetadata.of(snapshot.metadata()), log, null);
    }

    /** Asks a function that reads only the log. */
    public TableQuestion(String name, TableLog log) {
      this(name, null, log, null);
    }

    /** Asks a function that looks for dropped columns. */
    public TableQuestion(String name, TableLog log, Folder folder) {
      this(name, null, log, folder);
    }
  }

  /**
   * A table's folder; {@code TableFolder} of {@code spark_ext/log/actions.py} documents each
   * component.
   */
  record Folder(
      String location,
      JsonNode asked,
      long now,
      long deletedFileRetention,
      long logRetention,
      boolean cleansUpLog,
      Moment moment,
      List<String> otherTables,
      FileCount logFiles,
      FileCount olderLogFiles,
      List<String> unknownLogFiles,
      long tombstones,
      long olderTombstones,
      long cleanableFrom) {}

  /**
   * Asks what the metadata shows of the moment of an erasure.
   *
   * @param asked the second argument of {@code column_mapping_verdict}, or null
   */
  record ErasureStart(String name, TableLog log, JsonNode asked) implements Question {}

  /**
   * Asks a table function that needs the number and the size of the files.
   *
   * @param files the files of the version
   * @param removal the session's setting, or null
   * @param copies whether a removal copies files
   * @param exact the files that a removal keeps, copies and rewrites, or null
   */
  record TableFacts(
      TableMetadata table,
      TableProtocol protocol,
      String name,
      FileCount files,
      String removal,
      boolean copies,
      CountedFiles exact)
      implements Question {
    /**
     * Describes a version of a table.
     *
     * @param removal the session's setting or null
     * @param copies whether a removal copies files, as {@code CopySetting} decides
     */
    public TableFacts(
        String name,
        Snapshot snapshot,
        FileCount files,
        String removal,
        boolean copies,
        CountedFiles exact) {
      this(
          TableMetadata.of(snapshot.metadata()),
          TableProtocol.of(snapshot.protocol()),
          name,
          files,
          removal,
          copies,
          exact);
    }
  }

  /** Asks for the rows of a survey. */
  record Survey(List<AskedTable> tables) implements Question {}

  /**
   * A table of a survey.
   *
   * @param name the full name
   * @param facts the text of {@link TableFacts}, so that a schema that only Delta reads as JSON
   *     affects no other table; null if the table cannot be read
   * @param version the version that the facts describe; null if the table cannot be read
   * @param location the table's folder; null if the table cannot be read
   * @param error the condition of the error in that case, else null
   * @param message the text of the error, else null
   */
  record AskedTable(
      String name, String facts, Long version, String location, String error, String message) {}

  /**
   * The facts about a transaction and its session.
   *
   * @param protocol the transaction's protocol
   * @param creatingTable whether the command creates or replaces the table
   * @param copiesUntracked whether RESTORE restores an untracked version, or CLONE clones an
   *     untracked table
   * @param enabledByDefault the session's {@code spark.sparkext.usageTracking.enabledByDefault}, if
   *     the command creates or replaces the table
   * @param featureDefault whether the session's defaults for new tables name the feature
   * @param flagDefault whether the session's defaults for new tables name the flag
   */
  record CommitContext(
      TableProtocol protocol,
      boolean creatingTable,
      boolean copiesUntracked,
      boolean enabledByDefault,
      boolean featureDefault,
      boolean flagDefault) {}

  /** Returns the JSON of an argument; null for none. */
  static JsonNode argument(Object text) {
    try {
      return text == null ? null : Json.read(text.toString());
    } catch (JsonProcessingException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  /** Returns the text of the question. */
  default String json() {
    return Json.write(this);
  }

  /** The files that a removal of column mapping keeps, copies and rewrites, by their footers. */
  record CountedFiles(FileCount kept, FileCount copied, FileCount rewritten) {}

  /** A table's protocol; its features are null below reader version 3 and writer version 7. */
  record TableProtocol(
      int minReaderVersion,
      int minWriterVersion,
      Set<String> readerFeatures,
      Set<String> writerFeatures) {
    /** Reads Delta's protocol. */
    static TableProtocol of(Protocol protocol) {
      return new TableProtocol(
          protocol.minReaderVersion(),
          protocol.minWriterVersion(),
          features(protocol.readerFeatures()),
          features(protocol.writerFeatures()));
    }

    private static Set<String> features(Option<scala.collection.immutable.Set<String>> features) {
      return features.isEmpty() ? null : CollectionConverters.asJava(features.get());
    }
  }
}
