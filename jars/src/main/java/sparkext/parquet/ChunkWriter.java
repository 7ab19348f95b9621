// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageLocation;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;
import sparkext.parquet.Regions.Region;

/**
 * Writes the chunks that stay, one after the other, with their filters and indexes behind them, and
 * moves every offset that points to them.
 */
final class ChunkWriter {
  private final ByteRanges source;
  private final Regions regions;
  private final OutputStream target;
  private long position;

  /** A chunk that stays and what belongs to it, where they were. */
  private record Part(ColumnChunk chunk, Region pages, Region filter, OffsetIndex index) {
    ColumnMetaData metadata() {
      return chunk.getMeta_data();
    }
  }

  ChunkWriter(ByteRanges source, OutputStream target) {
    this.source = source;
    this.regions = new Regions(source);
    this.target = target;
  }

  /**
   * Writes all up to the footer, changes the row groups accordingly, and says where it ended.
   * Nothing is written of a file that is refused.
   *
   * @param groups with the columns that stay
   * @param all the row groups with all columns
   */
  long write(List<RowGroup> groups, List<RowGroup> all) throws IOException, NotCopiedException {
    regions.requireApart(all);
    List<List<Part>> parts = new ArrayList<>();
    for (RowGroup group : groups) {
      parts.add(parts(group));
    }
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
      writeColumnIndex(part.chunk());
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
      source.copy(0, position, target);
    } else {
      target.write(Footer.MAGIC);
    }
  }

  private boolean isFirst(Part part) {
    return part.pages().start() == Footer.MAGIC.length;
  }

  /** In the order of the file. */
  private List<Part> parts(RowGroup group) throws IOException, NotCopiedException {
    List<Part> parts = new ArrayList<>();
    for (ColumnChunk chunk : group.getColumns()) {
      ColumnMetaData metadata = chunk.getMeta_data();
      parts.add(
          new Part(
              chunk,
              regions.chunk(metadata),
              metadata.isSetBloom_filter_offset() ? regions.bloomFilter(metadata) : null,
              chunk.isSetOffset_index_offset() ? regions.offsetIndex(chunk) : null));
    }
    parts.sort(Comparator.comparingLong(part -> part.pages().start()));
    return parts;
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
    if (part.index() != null) {
      for (PageLocation page : part.index().getPage_locations()) {
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

  private void writeColumnIndex(ColumnChunk chunk) throws IOException, NotCopiedException {
    if (chunk.isSetColumn_index_offset()) {
      Region index = regions.region(chunk.getColumn_index_offset(), chunk.getColumn_index_length());
      chunk.setColumn_index_offset(position);
      copy(index);
    }
  }

  private void writeOffsetIndex(Part part) throws IOException {
    if (part.index() != null) {
      ByteArrayOutputStream written = new ByteArrayOutputStream();
      Util.writeOffsetIndex(part.index(), written);
      part.chunk().setOffset_index_offset(position);
      part.chunk().setOffset_index_length(written.size());
      written.writeTo(target);
      position += written.size();
    }
  }

  private void copy(Region region) throws IOException {
    source.copy(region.start(), region.length(), target);
    position += region.length();
  }
}
