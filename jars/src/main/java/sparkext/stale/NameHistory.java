// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.collection.immutable.Seq;
import sparkext.feature.UsageTrackingFeature;

/**
 * What the columns of a table were called in its files, version by version.
 *
 * <p>Only where column mapping was switched off in between can a column have the name of another
 * one: while it is on, a name in files is never given again, and ids tell columns apart.
 */
final class NameHistory {
  private static final String RESTORE = "RESTORE";

  /** Operations that bring metadata of another version or table, and all rows with it. */
  private static final Set<String> BRINGING =
      Set.of(
          RESTORE,
          "CLONE",
          "REPLACE TABLE",
          "CREATE OR REPLACE TABLE",
          "REPLACE TABLE AS SELECT",
          "CREATE OR REPLACE TABLE AS SELECT");

  private final List<State> states;

  /**
   * @param states in the order of their versions, at least one
   */
  NameHistory(List<State> states) {
    this.states = states;
  }

  /**
   * A table from a version on.
   *
   * @param operation of the commit that made it so; empty where that is not known
   */
  record State(long version, String operation, Protocol protocol, Metadata metadata) {
    ColumnNames columns() {
      return ColumnNames.of(metadata);
    }

    boolean isMapped() {
      return columns().areMapped();
    }

    /**
     * Whether nothing was dropped or renamed since the table began to be tracked, and each column
     * has its own name in the files: then no other column's values have a name there.
     */
    boolean isUnused() {
      return UsageTrackingFeature.isSupportedBy(protocol)
          && metadata.configuration().get(UsageTrackingFeature.FLAG).contains("false")
          && columns().areOwn();
    }
  }

  /** Whether an operation brings metadata of another version or table. */
  static boolean isBringing(String operation) {
    return BRINGING.contains(operation);
  }

  /** The metadata of the last version. */
  Metadata metadata() {
    return states.get(states.size() - 1).metadata();
  }

  /**
   * Whether the columns at these paths of the first version are those of the same names in the
   * last, as far as the names in files do not show it: that is, at each step of a way on which
   * column mapping was switched on or off, or columns came back without it.
   */
  boolean keeps(Set<Seq<String>> paths) {
    for (int i = 1; i < states.size(); i++) {
      if (states.get(i - 1).isMapped() != states.get(i).isMapped() || isBroughtBack(i)) {
        return areKeptAtEachStep(paths);
      }
    }
    return true;
  }

  private boolean areKeptAtEachStep(Set<Seq<String>> paths) {
    for (int i = 1; i < states.size(); i++) {
      if (isBroughtBack(i)
          || !ColumnNames.areKept(paths, states.get(i - 1).columns(), states.get(i).columns())) {
        return false;
      }
    }
    return true;
  }

  /**
   * The version from which on files of this time may have the name of a reader's column for another
   * one, if there is any.
   *
   * <p>The columns that were there just before column mapping was switched off, and still have the
   * same names, are the same. What else there is may have the name of one that was dropped before,
   * with column mapping or, by overwriting the schema, without it.
   */
  OptionalLong misleads(ColumnNames readers) {
    boolean wasMapped = states.stream().anyMatch(State::isMapped);
    for (int i = 1; i < states.size(); i++) {
      if (wasMapped && isLostUnseen(i, readers)) {
        return OptionalLong.of(states.get(i).version());
      }
      if (isLeft(i)
          && !states.get(i - 1).isUnused()
          && !readers.isSubsetOf(states.get(i - 1).columns())) {
        return OptionalLong.of(states.get(i).version());
      }
      if (isBroughtBack(i) && !hasTheColumnsOfBeforeLeaving(i - 1)) {
        return OptionalLong.of(states.get(i).version());
      }
    }
    return OptionalLong.empty();
  }

  /** Whether a version without column mapping has no column that came after it was switched off. */
  private boolean hasTheColumnsOfBeforeLeaving(int last) {
    for (int i = last; i > 0; i--) {
      if (isLeft(i)) {
        ColumnNames mapped = states.get(i - 1).columns();
        return !mapped.lacksColumnsOf(states.get(last).columns());
      }
    }
    return false;
  }

  /** Whether column mapping was switched off. */
  private boolean isLeft(int i) {
    return states.get(i - 1).isMapped() && !states.get(i).isMapped();
  }

  /** Whether one of these columns went where Delta, which goes by ids, does not see it. */
  private boolean isLostUnseen(int i, ColumnNames columns) {
    State before = states.get(i - 1);
    State after = states.get(i);
    return !(before.isMapped() && after.isMapped())
        && columns.loseSome(before.columns(), after.columns());
  }

  /**
   * Whether columns of another version came of which no id says whether they are the same. What
   * replaces a table without column mapping means names, and brings nothing back.
   */
  private boolean isBroughtBack(int i) {
    State before = states.get(i - 1);
    State after = states.get(i);
    return !before.isMapped() && after.isMapped() && isBringing(after.operation())
        || !(before.isMapped() && after.isMapped()) && after.operation().equals(RESTORE);
  }
}
