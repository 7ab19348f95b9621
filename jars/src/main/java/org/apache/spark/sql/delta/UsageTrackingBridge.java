// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.delta;

import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.sources.InsertableRelation;

/**
 * The only class of ours that woven Delta code names.
 *
 * <p>Delta may sit in a parent class loader that cannot see our jar ({@code $SPARK_HOME/jars}
 * beside {@code --jars}), so this class is defined into Delta's own loader and speaks only JDK
 * types, and one of Spark. Until every hook is woven its functions change nothing.
 */
public final class UsageTrackingBridge {
  /** From Delta's map of supported table features to the map that Delta goes on with. */
  public static volatile UnaryOperator<Object> supportedFeatures = UnaryOperator.identity();

  /** From a metadata change's arguments and Delta's result to the metadata that is committed. */
  public static volatile BiFunction<Object[], Object, Object> assignedMetadata =
      (arguments, assigned) -> assigned;

  /** From the properties of a table that Delta compares to those that it goes on with. */
  public static volatile UnaryOperator<Object> comparedProperties = UnaryOperator.identity();

  /** From a transaction of Delta 4.0, and the protocol that it is to commit. */
  public static volatile BiConsumer<Object, Object> downgraded = (transaction, protocol) -> {};

  /** From a command that removes column mapping, and its arguments, to whether it is done. */
  public static volatile BiPredicate<Object, Object[]> removed = (command, arguments) -> false;

  /** From the rows that such a command rewrites to the same, of which none is passed over. */
  public static volatile UnaryOperator<Object> rewrittenRead = UnaryOperator.identity();

  /**
   * From the executor of an OPTIMIZE or a REORG with its session, snapshot, catalog table and
   * context, and the files that it is to write anew, to those that are left to it.
   */
  public static volatile BiFunction<Object[], Object, Object> purgeBegun =
      (executor, files) -> files;

  /** From such an executor with its files, and Delta's groups of them, to all groups. */
  public static volatile BiFunction<Object[], Object, Object> purgeGrouped =
      (executor, groups) -> groups;

  /** From such an executor and a group to what is committed of it; null where Delta writes it. */
  public static volatile BinaryOperator<Object> purgeWritten = (executor, files) -> null;

  /** From such an executor that could not write a group. */
  public static volatile Consumer<Object> purgeFailed = executor -> {};

  /** From such an executor, and whether it may commit again, to whether it really may. */
  public static volatile BinaryOperator<Object> purgeCommitted = (executor, retries) -> retries;

  /**
   * From an executor that ends, with what {@link #purgeBegun} gets and the predicate of its
   * partitions, and its failure to an error in the failure's place.
   */
  public static volatile BiConsumer<Object[], Object> purgeEnded = (executor, failure) -> {};

  /** From a plan and the files that are to be read with it, to an error where it is too old. */
  public static volatile BiConsumer<Object, Object> scanned = (plan, files) -> {};

  /**
   * From the index of a plan and the snapshot whose files it lists to an error where it is too old.
   */
  public static volatile BiConsumer<Object, Object> listed = (index, snapshot) -> {};

  /** From a plan and the files where it looks for rows to an error where it is too old. */
  public static volatile BiConsumer<Object, Object> matched = (plan, files) -> {};

  /** From a DELETE or an UPDATE and its transaction to an error where it is too old. */
  public static volatile BiConsumer<Object, Object> searched = (command, transaction) -> {};

  /** From the commit of a winner and its metadata to whether the loser's files fit it. */
  public static volatile BiPredicate<Object, Object> rebased = (winner, metadata) -> true;

  /** From the arguments of a check of a change feed to an error where names were used again. */
  public static volatile Consumer<Object[]> changesChecked = arguments -> {};

  /** From a stream's source and a check's arguments to an error where names were used again. */
  public static volatile BiConsumer<Object, Object[]> streamChecked = (source, arguments) -> {};

  /** From the builder of a write, and the write, to the write that Delta goes on with. */
  public static volatile BinaryOperator<Object> writeBuilt = (builder, write) -> write;

  /** From a statement that begins in this thread, so that it remembers its table. */
  public static volatile Consumer<Object> statementBegun = statement -> {};

  /** Forgets the table, as the statement ends. */
  public static volatile Runnable statementEnded = () -> {};

  /** From a log and a transaction that has begun to an error where the statement is too old. */
  public static volatile BiConsumer<Object, Object> started = (log, transaction) -> {};

  /**
   * From the type of a method after which a command may call what this Spark does not have, and its
   * arguments or the command alone, to an error where it will.
   */
  public static volatile BiConsumer<Object, Object[]> unlinked = (type, of) -> {};

  /** Whether the hooks are woven into this loader's Delta. Guarded by this class's monitor. */
  public static boolean woven = false;

  private UsageTrackingBridge() {}

  /**
   * A relation whose INSERT is between two steps. In this package its place in the stack is one of
   * Spark's own, for which no job is named.
   *
   * @param relation an {@code InsertableRelation}
   */
  public static Object around(Runnable begin, Object relation, Runnable end) {
    InsertableRelation delta = (InsertableRelation) relation;
    InsertableRelation around =
        (rows, overwrite) -> {
          begin.run();
          try {
            delta.insert(rows, overwrite);
          } finally {
            end.run();
          }
        };
    return around;
  }
}
