// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.function.Predicate;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/** The relation of a table that Delta may not be able to open. */
final class AuditedRelation {
  private AuditedRelation() {}

  /**
   * Returns the relation that a SELECT from the name would read. If Delta cannot open the table,
   * the relation has the table's name and folder and no column.
   *
   * @throws Exception the refusal of the catalog or of another extension, as for a SELECT
   */
  static LogicalPlan of(SparkSession session, List<String> name, Path folder) {
    LogicalPlan named =
        new UnresolvedIdentifier(
            CollectionConverters.asScala(name).toList(), /* allowTemp= */ false);
    var found = (ResolvedIdentifier) session.sessionState().analyzer().execute(named);
    Table table = loaded(found);
    if (table != null) {
      try {
        return session
            .sessionState()
            .analyzer()
            .execute(LoadedTable.relation(found.catalog(), found.identifier(), table));
      } catch (Exception error) { // Scala declares no checked exceptions
        if (UsageTrackingErrors.isStop(error) || !isOf(error, AuditedRelation::isDelta)) {
          throw UsageTrackingException.sneakyThrow(error); // such as another extension's refusal
        }
        // The audit reports the reason to users who may read the folder's relation.
      }
    }
    Option<CatalogTable> known =
        table instanceof DeltaTableV2 delta ? delta.catalogTable() : Option.empty();
    return FolderRelation.of(session, name, folder, known);
  }

  /**
   * Returns null if the catalog knows no such table or schema, also for a relative path that Hadoop
   * finds. Returns null, too, if Delta's Kernel connector cannot open the table.
   */
  private static Table loaded(ResolvedIdentifier found) {
    try {
      return new CatalogV2Implicits.CatalogHelper(found.catalog())
          .asTableCatalog()
          .loadTable(found.identifier());
    } catch (Exception refused) { // Scala declares no checked exceptions
      if (refused instanceof NoSuchDatabaseException
          || refused instanceof NoSuchTableException
          || (isOf(refused, LoadedTable::isKernel) && !UsageTrackingErrors.isStop(refused))) {
        return null;
      }
      throw UsageTrackingException.sneakyThrow(refused);
    }
  }

  private static boolean isDelta(String className) {
    return className.startsWith("org.apache.spark.sql.delta.") || className.startsWith("io.delta.");
  }

  /**
   * Returns whether one of these classes failed in a call from here. Delta's Kernel connector opens
   * a table in {@code loadTable}, once the catalog has allowed it. Delta's other connector opens a
   * table later, when {@link #of} makes the relation.
   */
  private static boolean isOf(Throwable error, Predicate<String> classes) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      for (StackTraceElement frame : cause.getStackTrace()) {
        if (frame.getClassName().equals(AuditedRelation.class.getName())) {
          break; // Delta may have called the statement around this one
        }
        if (classes.test(frame.getClassName())) {
          return true;
        }
      }
    }
    return false;
  }
}
