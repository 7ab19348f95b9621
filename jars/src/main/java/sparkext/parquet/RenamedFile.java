// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.SortingColumn;
import sparkext.parquet.Regions.Part;

/**
 * A data file under the names of a plan: what is the same is copied, byte by byte, and the footer
 * is written anew.
 *
 * <p>Source: Parquet, parquet.thrift.
 */
final class RenamedFile {
  private final ByteRanges source;
  private final Footer footer;
  private final SchemaTree schema;

  /** The leaves that stay, as they were and as they will be, by their old numbers. */
  private final Map<Integer, List<String>> oldPaths = new HashMap<>();

  private final Map<Integer, List<String>> newPaths = new HashMap<>();
  private final Map<Integer, Integer> newNumbers = new HashMap<>();
  private final KeyValues keyValues;

  /** What stays of each row group; null where all of the file does. */
  private final List<List<Part>> parts;

  /**
   * Reads the footer and, where columns go, the offset indexes of those that stay, and decides
   * whether the file can be copied: {@link #writeTo} refuses nothing. Nothing is written.
   *
   * @throws NotCopiedException if the file has to be written row by row
   * @throws NotParquetException if nobody can read it
   */
  RenamedFile(Source file, long size, Renaming renaming)
      throws IOException, NotCopiedException, NotParquetException {
    this.footer = Footer.read(file, size);
    this.source = new ByteRanges(file, footer.start());
    SchemaTree old = SchemaTree.of(footer.metadata().getSchema());
    this.schema = renaming.of(old);
    this.keyValues = renaming.keyValues();
    old.leaves().forEach(leaf -> oldPaths.put(leaf.number(), leaf.path()));
    for (SchemaTree.Leaf leaf : schema.leaves()) {
      newNumbers.put(leaf.number(), newNumbers.size());
      newPaths.put(leaf.number(), leaf.path());
    }
    requireCopyable();
    this.parts = oldPaths.size() == newPaths.size() ? null : stayingParts();
  }

  /** Whether the file can stay: all that it has is called so already, and nothing has to go. */
  boolean isClean() {
    return oldPaths.equals(newPaths);
  }

  /**
   * Writes the file under its new names, in pieces. Once: it changes the footer that was read.
   *
   * @param checkpoint runs before each piece of at most 16 MiB, and ends the copy by an exception
   * @return how many bytes were written
   */
  long writeTo(OutputStream target, Runnable checkpoint) throws IOException {
    FileMetaData renamed = footer.metadata();
    renamed.setSchema(schema.elements());
    keyValues.rename(renamed);
    if (renamed.isSetColumn_orders()) {
      renamed.setColumn_orders(staying(renamed.getColumn_orders()));
    }
    for (RowGroup group : renamed.getRow_groups()) {
      group.setColumns(staying(group.getColumns()));
      List<ColumnChunk> chunks = group.getColumns();
      List<List<String>> paths = new ArrayList<>(staying(paths()));
      for (int i = 0; i < chunks.size(); i++) {
        ColumnMetaData chunk = chunks.get(i).getMeta_data();
        chunk.setPath_in_schema(paths.get(i));
        chunk.unsetKey_value_metadata();
      }
    }
    long end = footer.start();
    if (parts == null) {
      source.copy(0, end, target, checkpoint);
    } else {
      renamed.getRow_groups().forEach(this::shrink);
      end = new ChunkWriter(source, target, checkpoint).write(renamed.getRow_groups(), parts);
    }
    return end + Footer.write(renamed, target);
  }

  /** Paths by the old numbers; null of a leaf that goes. */
  private List<List<String>> paths() {
    List<List<String>> paths = new ArrayList<>();
    for (int number = 0; number < oldPaths.size(); number++) {
      paths.add(newPaths.get(number));
    }
    return paths;
  }

  /** The entries of a list that has one for each leaf, without those of the leaves that go. */
  private <T> List<T> staying(List<T> ofLeaves) {
    List<T> staying = new ArrayList<>();
    for (int number = 0; number < ofLeaves.size(); number++) {
      if (newPaths.containsKey(number)) {
        staying.add(ofLeaves.get(number));
      }
    }
    return staying;
  }

  /** The sizes of a row group, and its order as far as it is one of columns that stay. */
  private void shrink(RowGroup group) {
    long compressed = 0;
    long uncompressed = 0;
    for (ColumnChunk chunk : group.getColumns()) {
      compressed += chunk.getMeta_data().getTotal_compressed_size();
      uncompressed += chunk.getMeta_data().getTotal_uncompressed_size();
    }
    group.setTotal_byte_size(uncompressed);
    if (group.isSetTotal_compressed_size()) {
      group.setTotal_compressed_size(compressed);
    }
    if (group.isSetSorting_columns()) {
      List<SortingColumn> order = new ArrayList<>();
      for (SortingColumn column : group.getSorting_columns()) {
        if (!newNumbers.containsKey(column.getColumn_idx())) {
          break;
        }
        order.add(column.setColumn_idx(newNumbers.get(column.getColumn_idx())));
      }
      group.setSorting_columns(order);
      group.setSorting_columnsIsSet(!order.isEmpty());
    }
  }

  private List<List<Part>> stayingParts() throws IOException, NotCopiedException {
    FileMetaData metadata = footer.metadata();
    CreatedBy.requireWholeChunks(metadata.getCreated_by());
    Regions regions = new Regions(source);
    regions.requireApart(metadata.getRow_groups());
    List<List<Part>> staying = new ArrayList<>();
    for (RowGroup group : metadata.getRow_groups()) {
      staying.add(regions.parts(staying(group.getColumns())));
    }
    return staying;
  }

  private void requireCopyable() throws NotCopiedException {
    FileMetaData metadata = footer.metadata();
    if (metadata.isSetEncryption_algorithm() || metadata.isSetFooter_signing_key_metadata()) {
      throw new NotCopiedException("it is encrypted");
    }
    keyValues.requireKnown(metadata);
    if (metadata.isSetColumn_orders() && metadata.getColumn_orders().size() != oldPaths.size()) {
      throw new NotCopiedException("it has not one order for each column");
    }
    for (RowGroup group : metadata.getRow_groups()) {
      if (group.getColumns().size() != oldPaths.size()) {
        throw new NotCopiedException("a row group has not the columns of the schema");
      }
      for (int number = 0; number < oldPaths.size(); number++) {
        requireCopyable(group.getColumns().get(number), oldPaths.get(number));
      }
    }
  }

  private static void requireCopyable(ColumnChunk chunk, List<String> path)
      throws NotCopiedException {
    ColumnMetaData metadata = chunk.getMeta_data();
    if (chunk.isSetCrypto_metadata()
        || chunk.isSetEncrypted_column_metadata()
        || metadata == null) {
      throw new NotCopiedException("a column is encrypted");
    }
    if (chunk.isSetFile_path()) {
      throw new NotCopiedException("a column is in another file");
    }
    if (!metadata.getPath_in_schema().equals(path)) {
      throw new NotCopiedException("its columns are not in the order of the schema");
    }
  }
}
