// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.SortingColumn;
import sparkext.parquet.ColumnChunks.Chunk;

/**
 * The byte copy of one file: the column chunks unchanged, without those of dropped columns, and a
 * new footer.
 *
 * <p>Source: Parquet, parquet.thrift.
 */
final class ByteCopy {
  private final InputFile source;
  private final Footer footer;
  private final boolean isKept;
  private final SchemaTree schema;
  private final KeyValueMetadata keyValues;

  /** The paths in the schema of the file, by the number of the column chunk in a row group. */
  private final Map<Integer, List<String>> oldPaths;

  /** The paths in the schema of the copy, by the number of the column chunk in the file. */
  private final Map<Integer, List<String>> newPaths;

  /** The chunks that are kept of each row group; null if all are. */
  private final List<List<Chunk>> chunks;

  /**
   * Reads the footer and, if columns were dropped, the offset indexes of the others. {@link
   * #writeTo} then writes every file that this constructor accepts.
   *
   * @param mayBeKept whether a file without renamed and dropped columns is kept
   * @throws NotCopyableException if Delta must rewrite the file
   * @throws UnreadableFileException if the file is not a Parquet file, truncated, or has no field
   *     ids in mode id
   */
  ByteCopy(InputFile source, long size, Renaming renaming, boolean mayBeKept) throws IOException {
    this.source = source;
    this.footer = Footer.read(source, size);
    this.keyValues = renaming.keyValues();
    SchemaTree old = SchemaTree.of(footer.metadata().getSchema());
    this.schema = renaming.of(old);
    this.oldPaths = old.leafPaths();
    this.newPaths = schema.leafPaths();
    this.isKept = mayBeKept && oldPaths.equals(newPaths);
    if (!isKept) {
      requireCopyable();
    }
    this.chunks = oldPaths.size() == newPaths.size() ? null : keptChunks();
  }

  /** Returns whether the file is kept, so no copy is needed or possible. */
  boolean isKept() {
    return isKept;
  }

  /**
   * Writes the copy. The method changes the footer that was read, so it can be called only once.
   *
   * @param checkpoint runs before each piece of at most 16 MiB, and may throw to end the copy
   * @return the length of the copy
   */
  long writeTo(OutputStream target, Runnable checkpoint) throws IOException {
    FileMetaData renamed = footer.metadata();
    List<RowGroup> groups = renamed.getRow_groups();
    renamed.setSchema(schema.elements());
    keyValues.rename(renamed);
    if (renamed.isSetColumn_orders()) {
      renamed.setColumn_orders(kept(renamed.getColumn_orders()));
    }
    for (RowGroup group : groups) {
      List<ColumnChunk> columns = group.getColumns();
      newPaths.forEach(
          (number, path) -> {
            columns.get(number).getMeta_data().setPath_in_schema(path);
            columns.get(number).getMeta_data().unsetKey_value_metadata();
          });
      group.setColumns(kept(columns));
    }
    long end = footer.start();
    if (chunks == null) {
      source.copy(0, end, target, checkpoint);
    } else {
      groups.forEach(this::updateTotals);
      end = new ColumnChunks.Writer(source, target, checkpoint).write(groups, chunks);
    }
    return end + Footer.write(renamed, target);
  }

  /** Returns the entries of kept columns, from a list with an entry for each column. */
  private <T> List<T> kept(List<T> ofColumns) {
    List<T> kept = new ArrayList<>();
    for (int number = 0; number < ofColumns.size(); number++) {
      if (newPaths.containsKey(number)) {
        kept.add(ofColumns.get(number));
      }
    }
    return kept;
  }

  /** Updates the sizes of a row group, and keeps its sort order up to the first dropped column. */
  private void updateTotals(RowGroup group) {
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
      updateOrder(group, group.getSorting_columns());
    }
  }

  private void updateOrder(RowGroup group, List<SortingColumn> order) {
    Map<Integer, Integer> newNumbers = new HashMap<>();
    newPaths.keySet().forEach(number -> newNumbers.put(number, newNumbers.size()));
    List<SortingColumn> kept = new ArrayList<>();
    for (SortingColumn column : order) {
      Integer number = newNumbers.get(column.getColumn_idx());
      if (number == null) {
        break;
      }
      column.setColumn_idx(number);
      kept.add(column);
    }
    // Some writers write an empty order for none.
    group.setSorting_columns(kept.isEmpty() && !order.isEmpty() ? null : kept);
  }

  private List<List<Chunk>> keptChunks() throws IOException {
    ColumnChunks all = new ColumnChunks(source, footer);
    List<List<Chunk>> kept = new ArrayList<>();
    for (RowGroup group : footer.metadata().getRow_groups()) {
      kept.add(all.locate(kept(group.getColumns())));
    }
    return kept;
  }

  private void requireCopyable() throws NotCopyableException {
    if (footer.problem() != null) {
      throw new NotCopyableException(footer.problem());
    }
    FileMetaData metadata = footer.metadata();
    keyValues.requireKnown(metadata);
    if (metadata.isSetColumn_orders() && metadata.getColumn_orders().size() != oldPaths.size()) {
      throw new NotCopyableException("its footer does not have one order for each column");
    }
    for (RowGroup group : metadata.getRow_groups()) {
      List<ColumnChunk> columns = group.getColumns();
      if (columns.size() != oldPaths.size()) {
        throw new NotCopyableException("a row group does not have the columns of the schema");
      }
      for (int number = 0; number < oldPaths.size(); number++) {
        requireCopyable(columns.get(number), oldPaths.get(number));
      }
    }
  }

  private static void requireCopyable(ColumnChunk chunk, List<String> path)
      throws NotCopyableException {
    if (chunk.isSetCrypto_metadata()
        || chunk.isSetEncrypted_column_metadata()
        || !chunk.isSetMeta_data()) {
      throw new NotCopyableException("a column is encrypted");
    }
    if (chunk.isSetFile_path()) {
      throw new NotCopyableException("a column is in another file");
    }
    if (!chunk.getMeta_data().getPath_in_schema().equals(path)) {
      throw new NotCopyableException("its column chunks are not in the order of the schema");
    }
  }
}
