// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.parquet.format.BloomFilterHeader;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageLocation;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;

/**
 * Where in a file the parts of a column lie: its chunk, its bloom filter, its two indexes. Throws
 * if a file is not in order, before anything of it is written.
 */
final class Regions {
  /** Enough for the header of a bloom filter. */
  private static final int HEADER = 256;

  private final ByteRanges source;

  /** A part of a file. */
  record Region(long start, long length) {
    boolean holds(long from, long bytes) {
      return from >= start && bytes >= 0 && from <= start + length - bytes;
    }
  }

  /** A chunk and what belongs to it, where they are in the file; null where it has none. */
  record Part(
      ColumnChunk chunk, Region pages, Region filter, Region columnIndex, OffsetIndex offsetIndex) {
    ColumnMetaData metadata() {
      return chunk.getMeta_data();
    }
  }

  Regions(ByteRanges source) {
    this.source = source;
  }

  /**
   * Refuses a file that is not in order: what goes may lie in what stays, and would not be gone.
   *
   * @param groups with all columns of the file
   */
  void requireApart(List<RowGroup> groups) throws IOException, NotCopiedException {
    List<Region> all = new ArrayList<>();
    for (RowGroup group : groups) {
      for (ColumnChunk chunk : group.getColumns()) {
        ColumnMetaData metadata = chunk.getMeta_data();
        all.add(chunk(metadata));
        if (metadata.isSetBloom_filter_offset()) {
          all.add(bloomFilter(metadata));
        }
        if (chunk.isSetColumn_index_offset()) {
          all.add(columnIndex(chunk));
        }
        if (chunk.isSetOffset_index_offset()) {
          all.add(region(chunk.getOffset_index_offset(), chunk.getOffset_index_length()));
        }
      }
    }
    all.sort(Comparator.comparingLong(Region::start));
    for (int i = 1; i < all.size(); i++) {
      if (all.get(i - 1).start() + all.get(i - 1).length() > all.get(i).start()) {
        throw new NotCopiedException("its columns lie in each other");
      }
    }
  }

  /** Returns the parts of chunks, in the order of the file. */
  List<Part> parts(List<ColumnChunk> chunks) throws IOException, NotCopiedException {
    List<Part> parts = new ArrayList<>();
    for (ColumnChunk chunk : chunks) {
      ColumnMetaData metadata = chunk.getMeta_data();
      parts.add(
          new Part(
              chunk,
              chunk(metadata),
              metadata.isSetBloom_filter_offset() ? bloomFilter(metadata) : null,
              chunk.isSetColumn_index_offset() ? columnIndex(chunk) : null,
              chunk.isSetOffset_index_offset() ? offsetIndex(chunk) : null));
    }
    parts.sort(Comparator.comparingLong(part -> part.pages().start()));
    return parts;
  }

  /** From its first page; an offset of 0 is one of a page that there is none of. */
  private Region chunk(ColumnMetaData chunk) throws NotCopiedException {
    long first =
        LongStream.of(
                chunk.getDictionary_page_offset(),
                chunk.getIndex_page_offset(),
                chunk.getData_page_offset())
            .filter(offset -> offset != 0)
            .min()
            .orElse(chunk.getTotal_compressed_size() == 0 ? Footer.MAGIC.length : 0);
    return region(first, chunk.getTotal_compressed_size());
  }

  /** Older writers say only where it begins. */
  private Region bloomFilter(ColumnMetaData chunk) throws IOException, NotCopiedException {
    long start = chunk.getBloom_filter_offset();
    if (chunk.isSetBloom_filter_length()) {
      return region(start, chunk.getBloom_filter_length());
    }
    byte[] bytes = source.read(start, source.atMost(start, HEADER));
    ByteArrayInputStream read = new ByteArrayInputStream(bytes);
    try {
      BloomFilterHeader header = Util.readBloomFilterHeader(read);
      return region(start, bytes.length - read.available() + (long) header.getNumBytes());
    } catch (IOException broken) {
      throw new NotCopiedException("a bloom filter cannot be read", broken);
    }
  }

  /** The index of the pages of a chunk, which must be in it. */
  private OffsetIndex offsetIndex(ColumnChunk chunk) throws IOException, NotCopiedException {
    byte[] bytes = source.read(chunk.getOffset_index_offset(), chunk.getOffset_index_length());
    OffsetIndex index;
    ByteArrayOutputStream again = new ByteArrayOutputStream(bytes.length);
    try {
      index = Util.readOffsetIndex(new ByteArrayInputStream(bytes));
      Util.writeOffsetIndex(index, again);
    } catch (IOException broken) {
      throw new NotCopiedException("an offset index cannot be read", broken);
    }
    if (!Extensions.isAllElseKnown(bytes, again.toByteArray())) {
      throw new NotCopiedException("an offset index says what is not known");
    }
    Region pages = chunk(chunk.getMeta_data());
    for (PageLocation page : index.getPage_locations()) {
      if (!pages.holds(page.getOffset(), page.getCompressed_page_size())) {
        throw new NotCopiedException("a page is outside of its column");
      }
    }
    return index;
  }

  private Region columnIndex(ColumnChunk chunk) throws NotCopiedException {
    return region(chunk.getColumn_index_offset(), chunk.getColumn_index_length());
  }

  private Region region(long start, long length) throws NotCopiedException {
    source.require(start, length);
    return new Region(start, length);
  }
}
