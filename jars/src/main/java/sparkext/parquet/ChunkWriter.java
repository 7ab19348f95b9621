// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.PageLocation;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;
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
  long write(List<RowGroup> groups, List<List<Chunk>> chunks) throws IOException {
    List<Chunk> all = chunks.stream().flatMap(List::stream).toList();
    writeMagic(all);
    for (int i = 0; i < groups.size(); i++) {
      if (groups.get(i).isSetFile_offset()) {
        groups.get(i).setFile_offset(position);
      }
      for (Chunk chunk : chunks.get(i)) {
        writePages(chunk);
      }
    }
    for (Chunk chunk : all) {
      if (chunk.filter() != null) {
        chunk.metadata().setBloom_filter_offset(position);
        copy(chunk.filter());
      }
    }
    for (Chunk chunk : all) {
      if (chunk.columnIndex() != null) {
        chunk.chunk().setColumn_index_offset(position);
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
    ColumnChunk chunk = located.chunk();
    ColumnMetaData metadata = located.metadata();
    copy(pages);
    // Old writers repeat the column's metadata behind the chunk. The copy does not have it.
    boolean inChunk = pages.contains(chunk.getFile_offset(), 1);
    chunk.setFile_offset(inChunk ? chunk.getFile_offset() + by : 0);
    metadata.setData_page_offset(moved(metadata.getData_page_offset(), by));
    if (metadata.isSetIndex_page_offset()) {
      metadata.setIndex_page_offset(moved(metadata.getIndex_page_offset(), by));
    }
    if (metadata.isSetDictionary_page_offset()) {
      metadata.setDictionary_page_offset(moved(metadata.getDictionary_page_offset(), by));
    }
    if (located.offsetIndex() != null) {
      for (PageLocation page : located.offsetIndex().getPage_locations()) {
        page.setOffset(page.getOffset() + by);
      }
    }
  }

  private static long moved(long offset, long by) {
    return offset == 0 ? 0 : offset + by;
  }

  private void writeOffsetIndex(Chunk chunk) throws IOException {
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    Util.writeOffsetIndex(chunk.offsetIndex(), written);
    chunk.chunk().setOffset_index_offset(position);
    chunk.chunk().setOffset_index_length(written.size());
    written.writeTo(target);
    position += written.size();
  }

  private void copy(ByteRange range) throws IOException {
    source.copy(range.start(), range.length(), target, checkpoint);
    position += range.length();
  }
}
