// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import java.util.List;
import org.apache.spark.sql.delta.Snapshot;
import sparkext.log.CleanupBoundary;
import sparkext.log.LogFiles;
import sparkext.log.TableLog;

/**
 * What the rule process is asked, as JSON, whose keys are the components of records.
 *
 * <p>{@code spark_ext/wire} makes dataclasses of it, which say what each component means; {@code
 * tests/unit/test_messages.py} holds that their fields are called as here.
 */
public sealed interface Question {
  /** Of a metadata change of a transaction. */
  record MetadataChange(
      TableMetadata old, TableMetadata proposed, TableMetadata assigned, CommitContext commit)
      implements Question {}

  /** How a table may remove column mapping. */
  record Removal(TableMetadata table, TableProtocol protocol) implements Question {}

  /** What becomes of the columns in the files of a table that is purged of dropped ones. */
  record Purge(TableMetadata table) implements Question {}

  /**
   * A table that a table function is called with.
   *
   * @param metadata null unless the function lists the columns
   * @param folder null unless the function looks for dropped columns
   */
  record TableQuestion(String name, TableMetadata metadata, TableLog log, Folder folder)
      implements Question {
    /** A function that lists the columns of a version. */
    public TableQuestion(String name, Snapshot snapshot, TableLog log) {
      this(name, TableMetadata.of(snapshot.metadata()), log, null);
    }

    /** A function that reads the log alone. */
    public TableQuestion(String name, TableLog log) {
      this(name, null, log, null);
    }

    /** A function that looks for dropped columns. */
    public TableQuestion(String name, TableLog log, Folder folder) {
      this(name, null, log, folder);
    }
  }

  /**
   * A table's folder; {@code TableFolder} of {@code spark_ext/log/folder.py} says what each
   * component means.
   */
  record Folder(
      long now,
      long deletedFileRetention,
      long logRetention,
      boolean cleansUpLog,
      boolean purges,
      List<LogFiles> logFiles,
      List<CleanupBoundary> boundaries) {}

  /**
   * Of a table function that needs the files' number and size.
   *
   * @param files those of the version
   * @param removal the session's setting, or null
   * @param exact what becomes of the files, or null
   */
  record TableFacts(
      TableMetadata table,
      TableProtocol protocol,
      String name,
      CountedFiles.Count files,
      String removal,
      CountedFiles exact)
      implements Question {
    /** Of a version of a table. */
    public TableFacts(
        String name,
        Snapshot snapshot,
        CountedFiles.Count files,
        String removal,
        CountedFiles exact) {
      this(
          TableMetadata.of(snapshot.metadata()),
          TableProtocol.of(snapshot.protocol()),
          name,
          files,
          removal,
          exact);
    }
  }

  /** Of the tables of a survey. */
  record Survey(List<AskedTable> tables) implements Question {}

  /**
   * A table of a survey.
   *
   * @param name its full name
   * @param facts the text of {@link TableFacts}, so that a schema that only Delta reads as JSON
   *     spoils no other table's; null where the table cannot be read
   * @param error the condition of the error then, else null
   * @param message what the error says, else null
   */
  record AskedTable(String name, String facts, String error, String message) {}

  /**
   * What the rules must know of a transaction and its session.
   *
   * @param protocol the transaction's
   * @param creatingTable whether the command creates or replaces the table
   * @param enabledByDefault the session's {@code spark.sparkext.usageTracking.enabledByDefault},
   *     where the command creates or replaces the table
   * @param featureDefault whether the session's defaults for new tables name the feature
   * @param flagDefault whether the session's defaults for new tables name the flag
   */
  record CommitContext(
      TableProtocol protocol,
      boolean creatingTable,
      boolean enabledByDefault,
      boolean featureDefault,
      boolean flagDefault) {}

  /** Its text. */
  default String json() {
    return Json.write(this);
  }
}
