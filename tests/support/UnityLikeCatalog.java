// SPDX-License-Identifier: Apache-2.0
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.expressions.Transform;

/**
 * Suggests column mapping for new tables and refuses RENAME COLUMN, as Unity Catalog does. It also
 * loads the tables of the session catalog, with their entries.
 */
public class UnityLikeCatalog extends PathCatalog {
  @Override
  public Table loadTable(Identifier id) throws NoSuchTableException {
    if (tableExists(id)) {
      return super.loadTable(id);
    }
    return ((TableCatalog)
            SparkSession.active().sessionState().catalogManager().v2SessionCatalog())
        .loadTable(id);
  }

  @Override
  public Table createTable(
      Identifier id, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    Map<String, String> suggested = new HashMap<>(properties);
    suggested.putIfAbsent("delta.columnMapping.mode", "name");
    return super.createTable(id, columns, partitions, suggested);
  }

  @Override
  public Table alterTable(Identifier id, TableChange... changes) throws NoSuchTableException {
    if (Arrays.stream(changes).anyMatch(TableChange.RenameColumn.class::isInstance)) {
      throw new UnsupportedOperationException("RENAME COLUMN is not supported");
    }
    return super.alterTable(id, changes);
  }
}
