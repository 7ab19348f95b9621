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
import sparkext.parquet.Regions.Part;
import sparkext.parquet.Regions.Region;

/**
 * Writes the chunks that stay, one after the other, with their filters and indexes behind them, and
 * moves every offset that points to them.
 */
final class ChunkWriter {
  private final ByteRanges source;
  private final OutputStream target;
  private final Runnable checkpoint;
  private long position;

  /**
   * @param checkpoint what {@link Source#copy} takes
   */
  ChunkWriter(ByteRanges source, OutputStream target, Runnable checkpoint) {
    this.source = source;
    this.target = target;
    this.checkpoint = checkpoint;
  }

  /**
   * Writes all up to the footer, changes the row groups accordingly, and says where it ended.
   *
   * @param groups with the columns that stay
   * @param parts of each group
   */
  long write(List<RowGroup> groups, List<List<Part>> parts) throws IOException {
    writeMagic(parts);
    for (int i = 0; i < groups.size(); i++) {
      if (groups.get(i).isSetFile_offset()) {
        groups.get(i).setFile_offset(position);
      }
      for (Part part : parts.get(i)) {
        writePages(part);
      }
    }
    for (Part part : parts.stream().flatMap(List::stream).toList()) {
      writeBloomFilter(part);
    }
    for (Part part : parts.stream().flatMap(List::stream).toList()) {
      writeColumnIndex(part);
    }
    for (Part part : parts.stream().flatMap(List::stream).toList()) {
      writeOffsetIndex(part);
    }
    return position;
  }

  /** With the first chunk where that comes next in the file: a store copies the two as one. */
  private void writeMagic(List<List<Part>> parts) throws IOException {
    position = Footer.MAGIC.length;
    if (parts.stream().flatMap(List::stream).findFirst().filter(this::isFirst).isPresent()) {
      source.copy(0, position, target, checkpoint);
    } else {
      target.write(Footer.MAGIC);
    }
  }

  private boolean isFirst(Part part) {
    return part.pages().start() == Footer.MAGIC.length;
  }

  private void writePages(Part part) throws IOException {
    long by = position - part.pages().start();
    ColumnChunk chunk = part.chunk();
    ColumnMetaData metadata = part.metadata();
    copy(part.pages());
    // Old writers have a copy of the metadata behind the chunk, which is not copied.
    boolean inChunk = part.pages().holds(chunk.getFile_offset(), 1);
    chunk.setFile_offset(inChunk ? chunk.getFile_offset() + by : 0);
    metadata.setData_page_offset(moved(metadata.getData_page_offset(), by));
    if (metadata.isSetIndex_page_offset()) {
      metadata.setIndex_page_offset(moved(metadata.getIndex_page_offset(), by));
    }
    if (metadata.isSetDictionary_page_offset()) {
      metadata.setDictionary_page_offset(moved(metadata.getDictionary_page_offset(), by));
    }
    if (part.offsetIndex() != null) {
      for (PageLocation page : part.offsetIndex().getPage_locations()) {
        page.setOffset(page.getOffset() + by);
      }
    }
  }

  private static long moved(long offset, long by) {
    return offset == 0 ? 0 : offset + by;
  }

  private void writeBloomFilter(Part part) throws IOException {
    if (part.filter() != null) {
      part.metadata().setBloom_filter_offset(position);
      copy(part.filter());
    }
  }

  private void writeColumnIndex(Part part) throws IOException {
    if (part.columnIndex() != null) {
      part.chunk().setColumn_index_offset(position);
      copy(part.columnIndex());
    }
  }

  private void writeOffsetIndex(Part part) throws IOException {
    if (part.offsetIndex() != null) {
      ByteArrayOutputStream written = new ByteArrayOutputStream();
      Util.writeOffsetIndex(part.offsetIndex(), written);
      part.chunk().setOffset_index_offset(position);
      part.chunk().setOffset_index_length(written.size());
      written.writeTo(target);
      position += written.size();
    }
  }

  private void copy(Region region) throws IOException {
    source.copy(region.start(), region.length(), target, checkpoint);
    position += region.length();
  }
}
