// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.collection.immutable.Seq;
import sparkext.delta.ChangedMetadata;
import sparkext.delta.UsageTrackingFeature;

/**
 * The physical names of the columns of a table, version by version.
 *
 * <p>A column can have the physical name of another column only if column mapping was off in
 * between. While column mapping is on, no physical name is used twice, and ids identify columns.
 */
final class NameHistory {
  private static final String RESTORE = "RESTORE";

  /** Source: Delta 4.4.0, DeltaOperations.scala, as all names here. */
  private static final String REMOVAL = "REMOVE COLUMN MAPPING";

  private static final String SET_PROPERTIES = "SET TBLPROPERTIES";
  private static final String UPGRADE_UNIFORM = "REORG TABLE UPGRADE UNIFORM";

  /** The only operations that enable column mapping of the columns that a table has. */
  private static final Set<String> ENABLING = Set.of(SET_PROPERTIES, UPGRADE_UNIFORM);

  /** The operations that replace the metadata by that of another version or table. */
  private static final Set<String> REPLACING =
      Set.of(
          RESTORE,
          "CLONE",
          "REPLACE TABLE",
          "CREATE OR REPLACE TABLE",
          "REPLACE TABLE AS SELECT",
          "CREATE OR REPLACE TABLE AS SELECT");

  /**
   * The operations that change the table's own metadata. A commit need not name its operation, and
   * an unknown operation may do the same as RESTORE.
   */
  private static final Set<String> ALTERING =
      Set.of(
          SET_PROPERTIES,
          UPGRADE_UNIFORM,
          "UNSET TBLPROPERTIES",
          "UPGRADE PROTOCOL",
          "DROP FEATURE",
          "ADD COLUMNS",
          "CHANGE COLUMN",
          "CHANGE COLUMNS",
          "REPLACE COLUMNS",
          "UPDATE SCHEMA",
          "ADD CONSTRAINT",
          "DROP CONSTRAINT",
          "CLUSTER BY",
          "WRITE",
          "STREAMING UPDATE",
          "MERGE");

  /** Source: Delta 4.4.0, DeltaSourceUtils.scala, {@code IDENTITY_INFO_HIGHWATERMARK}. */
  private static final Pattern LAST_IDENTITY =
      Pattern.compile("(\"delta\\.identity\\.highWaterMark\"\\s*:\\s*)-?\\d+");

  private final List<State> states;

  /**
   * @param states at least one, in the order of their versions
   */
  NameHistory(List<State> states) {
    this.states = states;
  }

  /**
   * The protocol and metadata of a table from a version on.
   *
   * @param operation the operation of the commit, or an empty text
   */
  record State(long version, String operation, Protocol protocol, Metadata metadata) {
    /** Returns the table at the start of a history. */
    static State of(SnapshotDescriptor table) {
      return new State(table.version(), "", table.protocol(), table.metadata());
    }

    ColumnNames columns() {
      return ColumnNames.of(metadata);
    }

    boolean isMapped() {
      return columns().isMapped();
    }

    /**
     * Returns true if the flag is false and each physical name equals the logical name. Then no
     * physical name of a column was ever the name of another column.
     */
    boolean hasOnlyLogicalNames() {
      return UsageTrackingFeature.isSupportedBy(protocol)
          && metadata.configuration().get(UsageTrackingFeature.FLAG).contains("false")
          && columns().arePhysicalNamesLogical();
    }
  }

  /** Returns true if an operation enables column mapping of the columns that the table has. */
  static boolean enablesMapping(String operation) {
    return operation != null && ENABLING.contains(operation);
  }

  /** Returns true if the last version has this metadata. Last values of identities may differ. */
  boolean endsWith(Metadata metadata) {
    return areSame(states.get(states.size() - 1).metadata(), metadata);
  }

  /**
   * Returns true if metadata are equal, except for the last values of IDENTITY columns, which Delta
   * stores in the schema.
   */
  static boolean areSame(Metadata one, Metadata other) {
    return withoutIdentities(one).equals(withoutIdentities(other));
  }

  private static Metadata withoutIdentities(Metadata metadata) {
    String schema = metadata.schemaString();
    return schema == null
        ? metadata
        : ChangedMetadata.of(
            metadata, LAST_IDENTITY.matcher(schema).replaceAll("$1"), metadata.configuration());
  }

  /**
   * Returns true if the columns at these paths are the same in the first and the last version.
   *
   * <p>If column mapping stayed on, physical names show a difference and nothing is compared here.
   * If column mapping was turned on or off in between, each commit is compared.
   */
  boolean keeps(Set<Seq<String>> paths) {
    for (int i = 1; i < states.size(); i++) {
      if (states.get(i - 1).isMapped() != states.get(i).isMapped() || restoresUnmapped(i)) {
        return areKeptByEachCommit(paths);
      }
    }
    return true;
  }

  private boolean areKeptByEachCommit(Set<Seq<String>> paths) {
    for (int i = 1; i < states.size(); i++) {
      if (restoresUnmapped(i)
          || !ColumnNames.haveSameColumns(
              paths, states.get(i - 1).columns(), states.get(i).columns())) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the first version whose earlier files may contain, under the name of a reader's column,
   * the values of another column.
   *
   * <p>The columns that existed just before column mapping was removed, and still have the same
   * names, are the same columns. Any other column may have the name of a column that was dropped
   * earlier.
   */
  OptionalLong firstMisleading(ColumnNames readers) {
    boolean wasMapped = states.stream().anyMatch(State::isMapped);
    for (int i = 1; i < states.size(); i++) {
      if (wasMapped && isAnyDroppedUnseen(i, readers)) {
        return OptionalLong.of(states.get(i).version());
      }
      if (isRemoval(i)
          && !states.get(i - 1).hasOnlyLogicalNames()
          && !readers.isSubsetOf(states.get(i - 1).columns())) {
        return OptionalLong.of(states.get(i).version());
      }
      if (restoresUnmapped(i) && !hasNoColumnAddedSinceRemoval(i - 1)) {
        return OptionalLong.of(states.get(i).version());
      }
    }
    return OptionalLong.empty();
  }

  /**
   * Returns the removals of column mapping that changed the names in files, if all other changes of
   * columns only added columns.
   *
   * <p>Then a reader of the last version can read each range of versions with the names before the
   * next of these removals. Columns that were added later are null there. A removal changed no name
   * for this reader if it finds each of its columns under the same name on both sides.
   *
   * @return empty if no version removed column mapping, or if any version changed columns otherwise
   */
  Optional<List<Long>> removals() {
    // The loop reads the columns of each version, of which a stream may have seen many.
    if (IntStream.range(1, states.size()).noneMatch(this::isRemoval)) {
      return Optional.empty();
    }
    ColumnNames readers = states.get(states.size() - 1).columns();
    List<Long> versions = new ArrayList<>();
    for (int i = 1; i < states.size(); i++) {
      ColumnNames before = states.get(i - 1).columns();
      boolean isRemoval = isRemoval(i);
      boolean areNamesKept = before.hasNamesIn(states.get(i).columns());
      if (!onlyAddsColumns(i) || !(isRemoval ? before.lacksOnlyColumnsOf(readers) : areNamesKept)) {
        return Optional.empty();
      }
      // A column that was added later may have the name that a dropped column has in older files.
      if (isRemoval && !(areNamesKept && readers.hasNamesIn(before))) {
        versions.add(states.get(i).version());
      }
    }
    return Optional.of(versions);
  }

  private boolean onlyAddsColumns(int i) {
    Metadata before = states.get(i - 1).metadata();
    Metadata after = states.get(i).metadata();
    return hasKnownOperation(i)
        && before.id().equals(after.id())
        && before.partitionColumns().equals(after.partitionColumns())
        && states.get(i - 1).columns().isExtendedBy(states.get(i).columns());
  }

  /** Returns true if the operation of a commit shows that its columns are the table's own. */
  private boolean hasKnownOperation(int i) {
    boolean isMapped = states.get(i).isMapped();
    String operation = states.get(i).operation();
    return states.get(i - 1).isMapped() == isMapped
        ? ALTERING.contains(operation)
        : isMapped ? ENABLING.contains(operation) : operation.equals(REMOVAL);
  }

  /** Returns true if no column of this version was added after column mapping was removed. */
  private boolean hasNoColumnAddedSinceRemoval(int last) {
    for (int i = last; i > 0; i--) {
      if (isRemoval(i)) {
        ColumnNames mapped = states.get(i - 1).columns();
        return !mapped.lacksColumnsOf(states.get(last).columns());
      }
    }
    return false;
  }

  /** Returns true if a commit removed column mapping. */
  private boolean isRemoval(int i) {
    return states.get(i - 1).isMapped() && !states.get(i).isMapped();
  }

  /** Returns true if a commit without column mapping dropped a column, which Delta cannot see. */
  private boolean isAnyDroppedUnseen(int i, ColumnNames columns) {
    State before = states.get(i - 1);
    State after = states.get(i);
    return !(before.isMapped() && after.isMapped())
        && columns.isAnyDroppedBetween(before.columns(), after.columns());
  }

  /**
   * Returns true if a commit may have restored columns of another version that have no ids to
   * compare. REPLACE on an unmapped table matches columns by name, so it restores no dropped
   * column. Other writers have operations of their own that change an unmapped table.
   */
  private boolean restoresUnmapped(int i) {
    boolean wasMapped = states.get(i - 1).isMapped();
    String operation = states.get(i).operation();
    if (states.get(i).isMapped()) {
      return !wasMapped && !ENABLING.contains(operation);
    }
    boolean isKnown =
        wasMapped
            ? operation.equals(REMOVAL) || REPLACING.contains(operation)
            : !operation.isEmpty();
    return !isKnown || operation.equals(RESTORE);
  }
}
