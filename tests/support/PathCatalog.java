// SPDX-License-Identifier: Apache-2.0
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.*;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A catalog in which {@code a.b} is the Delta table in the folder a/b of the catalog's root. */
public class PathCatalog implements TableCatalog {
  private String name;
  private String root;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    // The catalog may have another name than in the session.
    this.name = options.getOrDefault("alias", name);
    this.root = options.get("root");
  }

  public String name() { return name; }

  public Identifier[] listTables(String[] namespace) { return new Identifier[0]; }

  public boolean tableExists(Identifier id) {
    try {
      Path log = new Path(path(id).name(), "_delta_log");
      return log.getFileSystem(session().sessionState().newHadoopConf()).exists(log);
    } catch (java.io.IOException failed) {
      throw new java.io.UncheckedIOException(failed);
    }
  }

  public Table loadTable(Identifier id) throws NoSuchTableException {
    if (!tableExists(id)) {
      throw new NoSuchTableException(id);
    }
    return delta().loadTable(path(id));
  }

  public Table createTable(
      Identifier id, Column[] columns, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return delta().createTable(path(id), columns, partitions, properties);
  }

  public Table alterTable(Identifier id, TableChange... changes) throws NoSuchTableException {
    return delta().alterTable(path(id), changes);
  }

  public boolean dropTable(Identifier id) { throw new UnsupportedOperationException(); }

  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException();
  }

  private Identifier path(Identifier id) {
    String folder = String.join("/", id.namespace());
    return Identifier.of(new String[] {"delta"}, root + "/" + folder + "/" + id.name());
  }

  private static SparkSession session() { return SparkSession.active(); }

  private static TableCatalog delta() {
    return (TableCatalog) session().sessionState().catalogManager().v2SessionCatalog();
  }
}
