// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.*;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A {@code PathCatalog} on a local disk that lists its tables and schemas. A folder that contains a
 * log or a file {@code _foreign}, {@code _refused} or {@code _slow} is a table. Other folders are
 * schemas. A folder with {@code _denied} is not listed, and one with {@code _flat} has no schemas.
 */
public class ListingCatalog extends PathCatalog implements SupportsNamespaces {
  private File root;

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    super.initialize(name, options);
    root = new File(options.get("root"));
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    if (namespace.length == 0) {
      throw new IllegalStateException("a schema is wanted");
    }
    if (has(folder(namespace), "_denied")) {
      throw new SecurityException("not for you");
    }
    return folders(namespace)
        .filter(ListingCatalog::isTable)
        .map(table -> Identifier.of(namespace, table.getName()))
        .toArray(Identifier[]::new);
  }

  @Override
  public Table loadTable(Identifier id) throws NoSuchTableException {
    File table = new File(folder(id.namespace()), id.name());
    if (has(table, "_refused")) {
      throw new SecurityException("nor this");
    }
    if (has(table, "_slow")) {
      wait(id);
    }
    return has(table, "_foreign") ? new Foreign(id.name()) : super.loadTable(id);
  }

  @Override
  public String[][] listNamespaces() {
    return listNamespaces(new String[0]);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) {
    if (has(folder(namespace), "_flat")) {
      throw new UnsupportedOperationException("one level");
    }
    return folders(namespace)
        .filter(schema -> !isTable(schema))
        .map(schema -> Stream.concat(Arrays.stream(namespace), Stream.of(schema.getName())))
        .map(parts -> parts.toArray(String[]::new))
        .toArray(String[][]::new);
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    if (!folder(namespace).isDirectory()) {
      throw new NoSuchNamespaceException(namespace);
    }
    return Map.of();
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) {
    throw new UnsupportedOperationException();
  }

  private File folder(String[] namespace) {
    return new File(root, String.join("/", namespace));
  }

  private Stream<File> folders(String[] namespace) {
    File[] found = folder(namespace).listFiles(File::isDirectory);
    return found == null ? Stream.empty() : Arrays.stream(found).sorted();
  }

  private static boolean isTable(File folder) {
    return Stream.of("_delta_log", "_foreign", "_refused", "_slow").anyMatch(file -> has(folder, file));
  }

  private static boolean has(File folder, String file) {
    return new File(folder, file).exists();
  }

  private static void wait(Identifier id) {
    try {
      Thread.sleep(600_000);
    } catch (InterruptedException stopped) {
      throw new IllegalStateException(id.toString(), stopped);
    }
  }

  /** A table of another format. */
  private record Foreign(String name) implements Table {
    @Override
    public StructType schema() {
      throw new IllegalStateException("nobody asks for it");
    }

    @Override
    public Map<String, String> properties() {
      return Map.of("provider", "elsewhere");
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of();
    }
  }
}
