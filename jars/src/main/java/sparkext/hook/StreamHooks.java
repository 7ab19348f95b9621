// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static sparkext.hook.DeltaHook.before;
import static sparkext.hook.DeltaHook.replacingBody;
import static sparkext.hook.DeltaHook.replacingResult;
import static sparkext.hook.HookedMethod.BOOLEAN;
import static sparkext.hook.HookedMethod.DATASET;
import static sparkext.hook.HookedMethod.DELTA;
import static sparkext.hook.HookedMethod.LONG;
import static sparkext.hook.HookedMethod.METADATA;
import static sparkext.hook.HookedMethod.OPTION;
import static sparkext.hook.HookedMethod.VOID;
import static sparkext.hook.HookedMethod.method;

import java.util.List;
import sparkext.stale.ReusedNames;
import sparkext.stale.StreamedNames;

/**
 * The hooks that decide with which physical names a stream reads a table.
 *
 * <p>Delta reads all versions with the names of the version at which the query started, and
 * compares other versions with it. These hooks refuse changes that Delta's comparison misses. After
 * a removal of column mapping, a stream reads each version with its own names, if all other changes
 * of columns only added columns.
 */
final class StreamHooks {
  private static final String SOURCE = DELTA + "sources.DeltaSource";
  private static final String SOURCE_BASE = DELTA + "sources.DeltaSourceBase";
  private static final String READING = "org.apache.spark.sql.connector.read.streaming.";

  private static final HookedMethod BATCH_METHOD =
      method(
          SOURCE_BASE,
          DATASET,
          "getFileChangesAndCreateDataFrame",
          LONG,
          LONG,
          BOOLEAN,
          SOURCE + "Offset");

  /**
   * Refuses to start a stream with a schema in which a column has the name that another column has
   * in the files of other versions.
   *
   * <p>Why here: a stream reads all versions with the schema of its start, and compares that schema
   * with the schema of the first version here, once, before it reads a file.
   *
   * <p>If missing: a stream from an early version shows the values of a dropped column as values of
   * a later column of that name.
   *
   * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code
   * checkReadIncompatibleSchemaChangeOnStreamStartOnce}.
   */
  private static final DeltaHook START =
      before(
          method(
              SOURCE_BASE,
              VOID,
              "checkReadIncompatibleSchemaChangeOnStreamStartOnce",
              LONG,
              OPTION),
          call -> ReusedNames.refuseStreamStart(call.self(), (long) call.argument(0)));

  /**
   * Refuses to continue a stream after RESTORE gave the physical names of its schema to columns of
   * another version. Omits Delta's check if each version is read with its own names.
   *
   * <p>Why here: a stream compares its schema with the metadata of its first version and with each
   * later metadata here, by physical name.
   *
   * <p>If missing: a running stream continues after such a RESTORE, and shows the values of one
   * column as values of another. No stream continues with its checkpoint after column mapping was
   * removed.
   *
   * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code checkReadIncompatibleSchemaChanges}.
   */
  private static final DeltaHook CHANGE =
      replacingBody(
          method(
              SOURCE_BASE,
              VOID,
              "checkReadIncompatibleSchemaChanges",
              METADATA,
              LONG,
              LONG,
              OPTION,
              BOOLEAN),
          call ->
              ReusedNames.refuseStreamChange(
                  call.self(), call.argument(0), (long) call.argument(1), (long) call.argument(2)));

  /**
   * Reads a batch with the names that its files have, and refuses a batch with two names of a
   * column.
   *
   * <p>Why here: every batch passes this method with its first and its last version, also the last
   * batch before a restart, which Spark creates again.
   *
   * <p>If missing: files from before a removal of column mapping are read with the names after it.
   * Columns are null, or have the values of a dropped column.
   *
   * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code getFileChangesAndCreateDataFrame}.
   */
  private static final DeltaHook BATCH =
      before(
          BATCH_METHOD,
          call ->
              StreamedNames.selectNames(call.self(), (long) call.argument(0), call.argument(3)));

  /**
   * Returns the snapshot whose physical names the files of a batch have.
   *
   * <p>Why here: batches of rows and of changes both take schema and protocol from this method.
   *
   * <p>If missing: as without {@link #BATCH}.
   *
   * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code readSnapshotDescriptor}.
   */
  private static final DeltaHook NAMES =
      replacingResult(
          method(SOURCE, DELTA + "SnapshotDescriptor", "readSnapshotDescriptor"),
          call -> StreamedNames.namesOfBatch(call.self()));

  /**
   * Gives a batch the columns that were added after it, as nulls.
   *
   * <p>Why here: Spark takes the columns of a batch by position.
   *
   * <p>If missing: a stream stops with an error if a column was added after a removal of column
   * mapping.
   *
   * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code getFileChangesAndCreateDataFrame}.
   */
  private static final DeltaHook COLUMNS =
      replacingResult(
          BATCH_METHOD, call -> StreamedNames.withColumnsOfStream(call.self(), call.result()));

  /**
   * Ends a batch at the commit that changed the names of the files.
   *
   * <p>Why here: Spark takes the end of each batch from this method. The last version of {@code
   * Trigger.AvailableNow}, which Delta determines inside this method, is unchanged.
   *
   * <p>If missing: {@link #BATCH} refuses the batch.
   *
   * <p>Source: Delta 4.4.0, DeltaSource.scala, {@code latestOffset}.
   */
  private static final DeltaHook END =
      replacingResult(
          method(
              SOURCE,
              READING + "Offset",
              "latestOffset",
              READING + "Offset",
              READING + "ReadLimit"),
          call -> StreamedNames.endOfBatch(call.self(), call.argument(0), call.result()));

  /** The order matters: loading a source also loads its base type, which must be woven first. */
  static final List<DeltaHook> ALL = List.of(START, CHANGE, BATCH, COLUMNS, NAMES, END);

  private StreamHooks() {}
}
