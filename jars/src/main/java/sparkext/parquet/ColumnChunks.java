// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.parquet.SemanticVersion;
import org.apache.parquet.VersionParser;
import org.apache.parquet.VersionParser.ParsedVersion;
import org.apache.parquet.VersionParser.VersionParseException;
import org.apache.parquet.format.BloomFilterHeader;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageLocation;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;

/**
 * Locates the column chunks of a file with their bloom filters and page indexes, so that a copy can
 * omit some of them.
 */
final class ColumnChunks {
  private static final String PARQUET_MR = "parquet-mr";
  private static final SemanticVersion WITH_WHOLE_SIZES = new SemanticVersion(1, 2, 9);

  /** A bloom filter's header has fewer bytes. */
  private static final int BLOOM_FILTER_HEADER = 256;

  private final InputFile file;
  private final Footer footer;

  /** A range of bytes in the file. */
  record ByteRange(long start, long length) {
    boolean contains(long from, long bytes) {
      return from >= start && bytes >= 0 && from <= start + length - bytes;
    }
  }

  /** A column chunk, its pages, its bloom filter and its page indexes. A missing part is null. */
  record Chunk(
      ColumnChunk chunk,
      ByteRange pages,
      ByteRange filter,
      ByteRange columnIndex,
      OffsetIndex offsetIndex) {
    ColumnMetaData metadata() {
      return chunk.getMeta_data();
    }
  }

  /**
   * Checks all column chunks of a file.
   *
   * @throws NotCopyableException if byte ranges overlap, since bytes of a dropped column might be
   *     copied with those of another column; if the writer is one of {@link #requireWholeSizes}
   */
  ColumnChunks(InputFile file, Footer footer) throws IOException {
    this.file = file;
    this.footer = footer;
    requireWholeSizes(footer.metadata().getCreated_by());
    requireApart(footer.metadata());
  }

  private void requireApart(FileMetaData metadata) throws IOException {
    List<ByteRange> all = new ArrayList<>();
    for (RowGroup group : metadata.getRow_groups()) {
      for (ColumnChunk chunk : group.getColumns()) {
        all.add(pages(chunk.getMeta_data()));
        if (chunk.getMeta_data().isSetBloom_filter_offset()) {
          all.add(bloomFilter(chunk.getMeta_data()));
        }
        if (chunk.isSetColumn_index_offset()) {
          all.add(columnIndex(chunk));
        }
        if (chunk.isSetOffset_index_offset()) {
          all.add(range(chunk.getOffset_index_offset(), chunk.getOffset_index_length()));
        }
      }
    }
    all.sort(Comparator.comparingLong(ByteRange::start));
    for (int i = 1; i < all.size(); i++) {
      if (all.get(i - 1).start() + all.get(i - 1).length() > all.get(i).start()) {
        throw new NotCopyableException("its column chunks overlap");
      }
    }
  }

  /**
   * Throws if the writer may be parquet-mr before 1.2.9, which omitted the header of the dictionary
   * page from a chunk's size: such a chunk cannot be copied without its neighbours.
   *
   * <p>Source: Parquet, PARQUET-816; Arrow, metadata.cc, {@code PARQUET_816_FIXED_VERSION}.
   *
   * @param writer {@code created_by} of the footer; null if the footer does not name the writer
   */
  private static void requireWholeSizes(String writer) throws NotCopyableException {
    if (writer != null && mayLackHeaders(writer)) {
      throw new NotCopyableException(
          "`" + writer + "` omitted page headers from the sizes of column chunks");
    }
  }

  /**
   * Returns whether a writer may be parquet-mr before 1.2.9. Photon and Trino have names that begin
   * with the name of parquet-mr, and other version numbers.
   */
  private static boolean mayLackHeaders(String writer) {
    try {
      ParsedVersion parsed = VersionParser.parse(writer);
      return parsed.application.equals(PARQUET_MR)
          && !(parsed.hasSemanticVersion()
              && parsed.getSemanticVersion().compareTo(WITH_WHOLE_SIZES) >= 0);
    } catch (VersionParseException withoutVersion) {
      return writer.startsWith(PARQUET_MR);
    }
  }

  /**
   * Locates some chunks of a row group, in the order of the file.
   *
   * @throws NotCopyableException if a page index cannot be read, or a page is in another chunk
   */
  List<Chunk> locate(List<ColumnChunk> chunks) throws IOException {
    List<Chunk> located = new ArrayList<>();
    for (ColumnChunk chunk : chunks) {
      ColumnMetaData metadata = chunk.getMeta_data();
      located.add(
          new Chunk(
              chunk,
              pages(metadata),
              metadata.isSetBloom_filter_offset() ? bloomFilter(metadata) : null,
              chunk.isSetColumn_index_offset() ? columnIndex(chunk) : null,
              chunk.isSetOffset_index_offset() ? offsetIndex(chunk) : null));
    }
    located.sort(Comparator.comparingLong(chunk -> chunk.pages().start()));
    return located;
  }

  /** Returns a range from a chunk's first page on. An offset of 0 means a missing page. */
  private ByteRange pages(ColumnMetaData chunk) throws NotCopyableException {
    long first =
        LongStream.of(
                chunk.getDictionary_page_offset(),
                chunk.getIndex_page_offset(),
                chunk.getData_page_offset())
            .filter(offset -> offset != 0)
            .min()
            .orElse(chunk.getTotal_compressed_size() == 0 ? Footer.MAGIC.length : 0);
    return range(first, chunk.getTotal_compressed_size());
  }

  /** Reads the header of a bloom filter if the footer lacks the filter's length. */
  private ByteRange bloomFilter(ColumnMetaData chunk) throws IOException {
    long start = chunk.getBloom_filter_offset();
    if (chunk.isSetBloom_filter_length()) {
      return range(start, chunk.getBloom_filter_length());
    }
    byte[] bytes =
        read(start, (int) Math.max(0, Math.min(BLOOM_FILTER_HEADER, footer.start() - start)));
    ByteArrayInputStream rest = new ByteArrayInputStream(bytes);
    BloomFilterHeader header;
    try {
      header = Util.readBloomFilterHeader(rest);
    } catch (IOException broken) {
      throw new NotCopyableException("a bloom filter cannot be read", broken);
    }
    return range(start, bytes.length - rest.available() + (long) header.getNumBytes());
  }

  private OffsetIndex offsetIndex(ColumnChunk chunk) throws IOException {
    byte[] bytes = read(chunk.getOffset_index_offset(), chunk.getOffset_index_length());
    OffsetIndex index;
    ByteArrayOutputStream again = new ByteArrayOutputStream(bytes.length);
    try {
      index = Util.readOffsetIndex(new ByteArrayInputStream(bytes));
      Util.writeOffsetIndex(index, again);
    } catch (IOException broken) {
      throw new NotCopyableException("an offset index cannot be read", broken);
    }
    if (!Extensions.isAllElseKnown(bytes, again.toByteArray())) {
      throw new NotCopyableException("an offset index has unknown fields");
    }
    ByteRange pages = pages(chunk.getMeta_data());
    for (PageLocation page : index.getPage_locations()) {
      if (!pages.contains(page.getOffset(), page.getCompressed_page_size())) {
        throw new NotCopyableException("a page is outside of its column chunk");
      }
    }
    return index;
  }

  private ByteRange columnIndex(ColumnChunk chunk) throws NotCopyableException {
    return range(chunk.getColumn_index_offset(), chunk.getColumn_index_length());
  }

  private byte[] read(long start, int length) throws IOException {
    range(start, length);
    byte[] bytes = new byte[length];
    file.read(start, bytes);
    return bytes;
  }

  /** Throws if a range is not between the first magic number and the footer. */
  private ByteRange range(long start, long length) throws NotCopyableException {
    if (start < Footer.MAGIC.length || length < 0 || start > footer.start() - length) {
      throw new NotCopyableException("its footer points outside of the file");
    }
    return new ByteRange(start, length);
  }
}
