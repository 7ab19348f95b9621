// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.apache.parquet.format.BloomFilterHeader;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.OffsetIndex;
import org.apache.parquet.format.PageLocation;
import org.apache.parquet.format.RowGroup;
import shaded.parquet.org.apache.thrift.TBase;

/**
 * Locates the column chunks of a file with their bloom filters and page indexes, so that a copy can
 * omit some of them.
 */
final class ColumnChunks {
  /**
   * The writer parquet-mr before 1.2.9, which omitted the header of the dictionary page from a
   * chunk's size: such a chunk cannot be copied without its neighbours. Photon and Trino have names
   * that begin with the name of parquet-mr.
   *
   * <p>Source: Parquet, PARQUET-816; Arrow, metadata.cc, {@code PARQUET_816_FIXED_VERSION}.
   */
  private static final Pattern WITHOUT_WHOLE_SIZES =
      Pattern.compile(
          "(?s)parquet-mr(?!-| compatible | version (1\\.(2\\.(9(?!-)|\\d\\d)|[3-9]|\\d\\d)|[2-9]|\\d\\d)).*");

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
   * @throws NotCopyableException if byte ranges overlap, because bytes of a dropped column might be
   *     copied with those of another column; if the writer omitted page headers from sizes
   */
  ColumnChunks(InputFile file, Footer footer) throws IOException {
    this.file = file;
    this.footer = footer;
    String writer = footer.metadata().getCreated_by();
    if (writer != null && WITHOUT_WHOLE_SIZES.matcher(writer).matches()) {
      throw new NotCopyableException(
          "`" + writer + "` omitted page headers from the sizes of column chunks");
    }
    requireApart(footer.metadata());
  }

  private void requireApart(FileMetaData metadata) throws IOException {
    List<ByteRange> all = new ArrayList<>();
    for (RowGroup group : metadata.getRow_groups()) {
      for (ColumnChunk chunk : group.getColumns()) {
        ColumnMetaData column = chunk.getMeta_data();
        all.add(pages(column));
        if (column.isSetBloom_filter_offset()) {
          all.add(bloomFilter(column));
        }
        if (chunk.isSetColumn_index_offset()) {
          all.add(columnIndex(chunk));
        }
        if (chunk.isSetOffset_index_offset()) {
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
   * Locates some chunks of a row group, in the given order. A copy contains them in this order:
   * Spark chooses the task that reads a row group by the position of its first column.
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
    return located;
  }

  /** Returns a range from a chunk's first page on. An offset of 0 means a missing page. */
  private ByteRange pages(ColumnMetaData column) throws NotCopyableException {
    long size = column.getTotal_compressed_size();
    long first =
        LongStream.of(
                column.getDictionary_page_offset(),
                column.getIndex_page_offset(),
                column.getData_page_offset())
            .filter(offset -> offset != 0)
            .min()
            .orElse(size == 0 ? Footer.MAGIC.length : 0);
    return range(first, size);
  }

  /** Reads the header of a bloom filter if the footer lacks the filter's length. */
  private ByteRange bloomFilter(ColumnMetaData column) throws IOException {
    long start = column.getBloom_filter_offset();
    if (column.isSetBloom_filter_length()) {
      return range(start, column.getBloom_filter_length());
    }
    long length = Math.max(0, Math.min(BLOOM_FILTER_HEADER, footer.start() - start));
    ThriftReader reader = new ThriftReader(read(new ByteRange(start, length)));
    BloomFilterHeader header = read(reader, new BloomFilterHeader(), "a bloom filter");
    return range(start, length - reader.remaining() + header.getNumBytes());
  }

  private OffsetIndex offsetIndex(ColumnChunk chunk) throws IOException {
    ThriftReader reader = new ThriftReader(read(offsetIndexRange(chunk)));
    OffsetIndex index = read(reader, new OffsetIndex(), "an offset index");
    if (reader.problem() != null) {
      throw new NotCopyableException("an offset index " + reader.problem());
    }
    ByteRange pages = pages(chunk.getMeta_data());
    for (PageLocation page : index.getPage_locations()) {
      if (!pages.contains(page.getOffset(), page.getCompressed_page_size())) {
        throw new NotCopyableException("a page is outside of its column chunk");
      }
    }
    return index;
  }

  private static <T extends TBase<T, ?>> T read(ThriftReader reader, T empty, String what)
      throws NotCopyableException {
    try {
      return reader.read(empty);
    } catch (IOException broken) {
      throw new NotCopyableException(what + " cannot be read", broken);
    }
  }

  private ByteRange offsetIndexRange(ColumnChunk chunk) throws NotCopyableException {
    return range(chunk.getOffset_index_offset(), chunk.getOffset_index_length());
  }

  private ByteRange columnIndex(ColumnChunk chunk) throws NotCopyableException {
    return range(chunk.getColumn_index_offset(), chunk.getColumn_index_length());
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

  /**
   * Writes the column chunks that are kept, with their bloom filters and page indexes behind all
   * chunks, and updates every offset of them in the footer.
   */
  static final class Writer {
    private final InputFile source;
    private final OutputStream target;
    private final Runnable checkpoint;
    private long position;

    /**
     * @param checkpoint as for {@link InputFile#copy}
     */
    Writer(InputFile source, OutputStream target, Runnable checkpoint) {
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
      copy(pages);
      // Old writers repeat the column's metadata behind the chunk. The copy does not have it.
      long offset = chunk.getFile_offset();
      chunk.setFile_offset(pages.contains(offset, 1) ? offset + by : 0L);
      move(located.metadata(), by);
      if (located.offsetIndex() != null) {
        for (PageLocation page : located.offsetIndex().getPage_locations()) {
          page.setOffset(page.getOffset() + by);
        }
      }
    }

    /** Moves the offsets of pages. An offset of 0 stands for a missing page. */
    private static void move(ColumnMetaData column, long by) {
      if (column.getData_page_offset() != 0) {
        column.setData_page_offset(column.getData_page_offset() + by);
      }
      if (column.getIndex_page_offset() != 0) {
        column.setIndex_page_offset(column.getIndex_page_offset() + by);
      }
      if (column.getDictionary_page_offset() != 0) {
        column.setDictionary_page_offset(column.getDictionary_page_offset() + by);
      }
    }

    private void writeOffsetIndex(Chunk chunk) throws IOException {
      byte[] written = ThriftReader.bytes(chunk.offsetIndex());
      chunk.chunk().setOffset_index_offset(position);
      chunk.chunk().setOffset_index_length(written.length);
      target.write(written);
      position += written.length;
    }

    private void copy(ByteRange range) throws IOException {
      source.copy(range.start(), range.length(), target, checkpoint);
      position += range.length();
    }
  }
}
