// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
    SchemaTree old = SchemaTree.of(footer.metadata().structs(FooterFormat.SCHEMA));
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
    ThriftStruct renamed = footer.metadata();
    List<ThriftStruct> groups = renamed.structs(FooterFormat.ROW_GROUPS);
    renamed.put(FooterFormat.SCHEMA, schema.elements());
    keyValues.rename(renamed);
    if (renamed.has(FooterFormat.COLUMN_ORDERS)) {
      renamed.put(FooterFormat.COLUMN_ORDERS, kept(renamed.structs(FooterFormat.COLUMN_ORDERS)));
    }
    for (ThriftStruct group : groups) {
      List<ThriftStruct> columns = group.structs(FooterFormat.COLUMNS);
      newPaths.forEach(
          (number, path) -> {
            ThriftStruct column = columns.get(number).struct(FooterFormat.METADATA);
            column.putTexts(FooterFormat.PATH, path);
            column.remove(FooterFormat.COLUMN_KEY_VALUES);
          });
      group.put(FooterFormat.COLUMNS, kept(columns));
    }
    long end = footer.start();
    if (chunks == null) {
      source.copy(0, end, target, checkpoint);
    } else {
      groups.forEach(this::updateTotals);
      end = new ChunkWriter(source, target, checkpoint).write(groups, chunks);
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
  private void updateTotals(ThriftStruct group) {
    long compressed = 0;
    long uncompressed = 0;
    for (ThriftStruct chunk : group.structs(FooterFormat.COLUMNS)) {
      compressed += chunk.struct(FooterFormat.METADATA).number(FooterFormat.COMPRESSED);
      uncompressed += chunk.struct(FooterFormat.METADATA).number(FooterFormat.UNCOMPRESSED);
    }
    group.put(FooterFormat.GROUP_SIZE, uncompressed);
    if (group.has(FooterFormat.GROUP_COMPRESSED)) {
      group.put(FooterFormat.GROUP_COMPRESSED, compressed);
    }
    if (group.has(FooterFormat.SORTING)) {
      updateOrder(group, group.structs(FooterFormat.SORTING));
    }
  }

  private void updateOrder(ThriftStruct group, List<ThriftStruct> order) {
    Map<Long, Long> newNumbers = new HashMap<>();
    newPaths.keySet().forEach(number -> newNumbers.put((long) number, (long) newNumbers.size()));
    List<ThriftStruct> kept = new ArrayList<>();
    for (ThriftStruct column : order) {
      Long number = newNumbers.get(column.number(FooterFormat.SORTED_COLUMN));
      if (number == null) {
        break;
      }
      column.put(FooterFormat.SORTED_COLUMN, number);
      kept.add(column);
    }
    // Some writers write an empty order for none.
    group.put(FooterFormat.SORTING, kept.isEmpty() && !order.isEmpty() ? null : kept);
  }

  private List<List<Chunk>> keptChunks() throws IOException {
    ColumnChunks all = new ColumnChunks(source, footer);
    List<List<Chunk>> kept = new ArrayList<>();
    for (ThriftStruct group : footer.metadata().structs(FooterFormat.ROW_GROUPS)) {
      kept.add(all.locate(kept(group.structs(FooterFormat.COLUMNS))));
    }
    return kept;
  }

  private void requireCopyable() throws NotCopyableException {
    if (footer.problem() != null) {
      throw new NotCopyableException(footer.problem());
    }
    ThriftStruct metadata = footer.metadata();
    keyValues.requireKnown(metadata);
    if (metadata.has(FooterFormat.COLUMN_ORDERS)
        && metadata.structs(FooterFormat.COLUMN_ORDERS).size() != oldPaths.size()) {
      throw new NotCopyableException("its footer does not have one order for each column");
    }
    for (ThriftStruct group : metadata.structs(FooterFormat.ROW_GROUPS)) {
      List<ThriftStruct> columns = group.structs(FooterFormat.COLUMNS);
      if (columns.size() != oldPaths.size()) {
        throw new NotCopyableException("a row group does not have the columns of the schema");
      }
      for (int number = 0; number < oldPaths.size(); number++) {
        requireCopyable(columns.get(number), oldPaths.get(number));
      }
    }
  }

  private static void requireCopyable(ThriftStruct chunk, List<String> path)
      throws NotCopyableException {
    if (chunk.has(FooterFormat.CRYPTO)
        || chunk.has(FooterFormat.ENCRYPTED_METADATA)
        || !chunk.has(FooterFormat.METADATA)) {
      throw new NotCopyableException("a column is encrypted");
    }
    if (chunk.has(FooterFormat.FILE_PATH)) {
      throw new NotCopyableException("a column is in another file");
    }
    if (!chunk.struct(FooterFormat.METADATA).texts(FooterFormat.PATH).equals(path)) {
      throw new NotCopyableException("its column chunks are not in the order of the schema");
    }
  }
}
