// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.parquet.SemanticVersion;
import org.apache.parquet.VersionParser;
import org.apache.parquet.VersionParser.ParsedVersion;
import org.apache.parquet.VersionParser.VersionParseException;

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
      ThriftStruct chunk,
      ByteRange pages,
      ByteRange filter,
      ByteRange columnIndex,
      ThriftStruct offsetIndex) {
    ThriftStruct metadata() {
      return chunk.struct(FooterFormat.METADATA);
    }
  }

  /**
   * Checks all column chunks of a file.
   *
   * @throws NotCopyableException if byte ranges overlap, because bytes of a dropped column might be
   *     copied with those of another column; if the writer is one of {@link #requireWholeSizes}
   */
  ColumnChunks(InputFile file, Footer footer) throws IOException {
    this.file = file;
    this.footer = footer;
    requireWholeSizes(footer.metadata().text(FooterFormat.CREATED_BY));
    requireApart(footer.metadata());
  }

  private void requireApart(ThriftStruct metadata) throws IOException {
    List<ByteRange> all = new ArrayList<>();
    for (ThriftStruct group : metadata.structs(FooterFormat.ROW_GROUPS)) {
      for (ThriftStruct chunk : group.structs(FooterFormat.COLUMNS)) {
        ThriftStruct column = chunk.struct(FooterFormat.METADATA);
        all.add(pages(column));
        if (column.has(FooterFormat.BLOOM_FILTER)) {
          all.add(bloomFilter(column));
        }
        if (chunk.has(FooterFormat.COLUMN_INDEX_OFFSET)) {
          all.add(columnIndex(chunk));
        }
        if (chunk.has(FooterFormat.OFFSET_INDEX_OFFSET)) {
          all.add(offsetIndexRange(chunk));
        }
      }
    }
    all.removeIf(range -> range.length() == 0); // a chunk without pages has no position
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
   * Locates some chunks of a row group, in the given order. A copy contains them in this order:
   * Spark chooses the task that reads a row group by the position of its first column.
   *
   * @throws NotCopyableException if a page index cannot be read, or a page is in another chunk
   */
  List<Chunk> locate(List<ThriftStruct> chunks) throws IOException {
    List<Chunk> located = new ArrayList<>();
    for (ThriftStruct chunk : chunks) {
      ThriftStruct metadata = chunk.struct(FooterFormat.METADATA);
      located.add(
          new Chunk(
              chunk,
              pages(metadata),
              metadata.has(FooterFormat.BLOOM_FILTER) ? bloomFilter(metadata) : null,
              chunk.has(FooterFormat.COLUMN_INDEX_OFFSET) ? columnIndex(chunk) : null,
              chunk.has(FooterFormat.OFFSET_INDEX_OFFSET) ? offsetIndex(chunk) : null));
    }
    return located;
  }

  /** Returns a range from a chunk's first page on. An offset of 0 means a missing page. */
  private ByteRange pages(ThriftStruct column) throws NotCopyableException {
    long size = column.number(FooterFormat.COMPRESSED);
    long first =
        IntStream.of(FooterFormat.DICTIONARY_PAGE, FooterFormat.INDEX_PAGE, FooterFormat.DATA_PAGE)
            .mapToLong(column::numberOrZero)
            .filter(offset -> offset != 0)
            .min()
            .orElse(size == 0 ? Footer.MAGIC.length : 0);
    return range(first, size);
  }

  /** Reads the header of a bloom filter if the footer lacks the filter's length. */
  private ByteRange bloomFilter(ThriftStruct column) throws IOException {
    long start = column.number(FooterFormat.BLOOM_FILTER);
    if (column.has(FooterFormat.BLOOM_FILTER_LENGTH)) {
      return range(start, column.number(FooterFormat.BLOOM_FILTER_LENGTH));
    }
    long length = Math.max(0, Math.min(BLOOM_FILTER_HEADER, footer.start() - start));
    ThriftReader reader = new ThriftReader(read(new ByteRange(start, length)));
    ThriftStruct header;
    try {
      header = reader.read(FooterFormat.BLOOM_FILTER_HEADER);
    } catch (IOException broken) {
      throw new NotCopyableException("a bloom filter cannot be read", broken);
    }
    return range(start, reader.position() + header.number(FooterFormat.FILTER_SIZE));
  }

  private ThriftStruct offsetIndex(ThriftStruct chunk) throws IOException {
    ThriftReader reader = new ThriftReader(read(offsetIndexRange(chunk)));
    ThriftStruct index;
    try {
      index = reader.read(FooterFormat.OFFSET_INDEX);
    } catch (IOException broken) {
      throw new NotCopyableException("an offset index cannot be read", broken);
    }
    reader.requireKnown("an offset index");
    ByteRange pages = pages(chunk.struct(FooterFormat.METADATA));
    for (ThriftStruct page : index.structs(FooterFormat.LOCATIONS)) {
      if (!pages.contains(
          page.number(FooterFormat.PAGE_OFFSET), page.number(FooterFormat.PAGE_SIZE))) {
        throw new NotCopyableException("a page is outside of its column chunk");
      }
    }
    return index;
  }

  private ByteRange offsetIndexRange(ThriftStruct chunk) throws NotCopyableException {
    return range(
        chunk.number(FooterFormat.OFFSET_INDEX_OFFSET),
        chunk.numberOrZero(FooterFormat.OFFSET_INDEX_LENGTH));
  }

  private ByteRange columnIndex(ThriftStruct chunk) throws NotCopyableException {
    return range(
        chunk.number(FooterFormat.COLUMN_INDEX_OFFSET),
        chunk.numberOrZero(FooterFormat.COLUMN_INDEX_LENGTH));
  }

  private byte[] read(ByteRange range) throws IOException {
    range(range.start(), range.length());
    byte[] bytes = new byte[(int) range.length()];
    file.read(range.start(), bytes);
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
