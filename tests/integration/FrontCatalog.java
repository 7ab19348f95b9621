// SPDX-License-Identifier: Apache-2.0
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.*;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.delta.catalog.DeltaCatalog;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Delegates to Delta's catalog, and stages no tables. */
public class FrontCatalog implements CatalogExtension {
  private final DeltaCatalog delta = new DeltaCatalog();

  public void setDelegateCatalog(CatalogPlugin session) { delta.setDelegateCatalog(session); }

  public void initialize(String name, CaseInsensitiveStringMap options) {}

  public String name() { return delta.name(); }

  public String[] defaultNamespace() { return delta.defaultNamespace(); }

  public Set<TableCatalogCapability> capabilities() { return delta.capabilities(); }

  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    return delta.listTables(namespace);
  }

  public Table loadTable(Identifier id) { return delta.loadTable(id); }

  public Table createTable(
      Identifier id, Column[] columns, Transform[] partitions, Map<String, String> properties) {
    return delta.createTable(id, columns, partitions, properties);
  }

  public Table alterTable(Identifier id, TableChange... changes) {
    return delta.alterTable(id, changes);
  }

  public boolean dropTable(Identifier id) { return delta.dropTable(id); }

  public void renameTable(Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    delta.renameTable(from, to);
  }

  public Identifier[] listFunctions(String[] namespace) throws NoSuchNamespaceException {
    return delta.listFunctions(namespace);
  }

  public UnboundFunction loadFunction(Identifier id) throws NoSuchFunctionException {
    return delta.loadFunction(id);
  }

  public String[][] listNamespaces() throws NoSuchNamespaceException {
    return delta.listNamespaces();
  }

  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    return delta.listNamespaces(namespace);
  }

  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    return delta.loadNamespaceMetadata(namespace);
  }

  public void createNamespace(String[] namespace, Map<String, String> metadata)
      throws NamespaceAlreadyExistsException {
    delta.createNamespace(namespace, metadata);
  }

  public void alterNamespace(String[] namespace, NamespaceChange... changes)
      throws NoSuchNamespaceException {
    delta.alterNamespace(namespace, changes);
  }

  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    return delta.dropNamespace(namespace, cascade);
  }
}
