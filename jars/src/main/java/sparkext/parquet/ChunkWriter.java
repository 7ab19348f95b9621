// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import sparkext.parquet.ColumnChunks.ByteRange;
import sparkext.parquet.ColumnChunks.Chunk;

/**
 * Writes the column chunks that are kept, with their bloom filters and page indexes behind all
 * chunks, and updates every offset of them in the footer.
 */
final class ChunkWriter {
  private final InputFile source;
  private final OutputStream target;
  private final Runnable checkpoint;
  private long position;

  /**
   * @param checkpoint as for {@link InputFile#copy}
   */
  ChunkWriter(InputFile source, OutputStream target, Runnable checkpoint) {
    this.source = source;
    this.target = target;
    this.checkpoint = checkpoint;
  }

  /**
   * Writes all bytes before the footer, and updates the offsets of the row groups.
   *
   * @param groups with the columns that are kept
   * @param chunks of each row group
   * @return the position of the footer
   */
  long write(List<ThriftStruct> groups, List<List<Chunk>> chunks) throws IOException {
    List<Chunk> all = chunks.stream().flatMap(List::stream).toList();
    writeMagic(all);
    for (int i = 0; i < groups.size(); i++) {
      if (groups.get(i).has(FooterFormat.GROUP_OFFSET)) {
        groups.get(i).put(FooterFormat.GROUP_OFFSET, position);
      }
      for (Chunk chunk : chunks.get(i)) {
        writePages(chunk);
      }
    }
    for (Chunk chunk : all) {
      if (chunk.filter() != null) {
        chunk.metadata().put(FooterFormat.BLOOM_FILTER, position);
        copy(chunk.filter());
      }
    }
    for (Chunk chunk : all) {
      if (chunk.columnIndex() != null) {
        chunk.chunk().put(FooterFormat.COLUMN_INDEX_OFFSET, position);
        copy(chunk.columnIndex());
      }
    }
    for (Chunk chunk : all) {
      if (chunk.offsetIndex() != null) {
        writeOffsetIndex(chunk);
      }
    }
    return position;
  }

  /** Copies the magic number if the first chunk follows it: a store then copies one range. */
  private void writeMagic(List<Chunk> all) throws IOException {
    position = Footer.MAGIC.length;
    if (!all.isEmpty() && all.get(0).pages().start() == position) {
      source.copy(0, position, target, checkpoint);
    } else {
      target.write(Footer.MAGIC);
    }
  }

  private void writePages(Chunk located) throws IOException {
    ByteRange pages = located.pages();
    long by = position - pages.start();
    ThriftStruct chunk = located.chunk();
    copy(pages);
    // Old writers repeat the column's metadata behind the chunk. The copy does not have it.
    long offset = chunk.number(FooterFormat.FILE_OFFSET);
    chunk.put(FooterFormat.FILE_OFFSET, pages.contains(offset, 1) ? offset + by : 0L);
    move(located.metadata(), FooterFormat.DATA_PAGE, by);
    move(located.metadata(), FooterFormat.INDEX_PAGE, by);
    move(located.metadata(), FooterFormat.DICTIONARY_PAGE, by);
    if (located.offsetIndex() != null) {
      for (ThriftStruct page : located.offsetIndex().structs(FooterFormat.LOCATIONS)) {
        page.put(FooterFormat.PAGE_OFFSET, page.number(FooterFormat.PAGE_OFFSET) + by);
      }
    }
  }

  /** Moves an offset. An offset of 0 stands for a missing page. */
  private static void move(ThriftStruct metadata, int offset, long by) {
    if (metadata.numberOrZero(offset) != 0) {
      metadata.put(offset, metadata.number(offset) + by);
    }
  }

  private void writeOffsetIndex(Chunk chunk) throws IOException {
    byte[] written = chunk.offsetIndex().toBytes();
    chunk.chunk().put(FooterFormat.OFFSET_INDEX_OFFSET, position);
    chunk.chunk().put(FooterFormat.OFFSET_INDEX_LENGTH, (long) written.length);
    target.write(written);
    position += written.length;
  }

  private void copy(ByteRange range) throws IOException {
    source.copy(range.start(), range.length(), target, checkpoint);
    position += range.length();
  }
}
