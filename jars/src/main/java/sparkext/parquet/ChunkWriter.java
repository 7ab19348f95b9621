// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
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
 * Writes the chunks that stay, one after the other, with their filters and indexes behind them, and
 * moves every offset that points to them.
 */
final class ChunkWriter {
  /** Enough for the header of a bloom filter. */
  private static final int HEADER = 256;

  private final ByteRanges source;
  private final OutputStream target;
  private long position;

  /** What is written of a chunk: where it was, and how far it moved. */
  private record Moved(ColumnChunk chunk, long start, long length, long by) {
    long moved(long offset) {
      return offset + by;
    }
  }

  ChunkWriter(ByteRanges source, OutputStream target) {
    this.source = source;
    this.target = target;
  }

  /** Writes all up to the footer, changes the row groups accordingly, and says where it ended. */
  long write(List<RowGroup> groups) throws IOException, NotCopiedException {
    List<Moved> all = new ArrayList<>();
    requireApart(groups);
    target.write(Footer.MAGIC);
    position = Footer.MAGIC.length;
    for (RowGroup group : groups) {
      long start = position;
      List<ColumnChunk> chunks = new ArrayList<>(group.getColumns());
      chunks.sort(Comparator.comparingLong(chunk -> start(chunk.getMeta_data())));
      for (ColumnChunk chunk : chunks) {
        all.add(move(chunk));
      }
      if (group.isSetFile_offset()) {
        group.setFile_offset(start);
      }
    }
    for (Moved moved : all) {
      copyBloomFilter(moved.chunk().getMeta_data());
    }
    for (Moved moved : all) {
      copyColumnIndex(moved.chunk());
    }
    for (Moved moved : all) {
      moveOffsetIndex(moved);
    }
    return position;
  }

  private Moved move(ColumnChunk chunk) throws IOException {
    ColumnMetaData metadata = chunk.getMeta_data();
    long start = start(metadata);
    long length = metadata.getTotal_compressed_size();
    Moved moved = new Moved(chunk, start, length, position - start);
    source.copy(start, length, target);
    position += length;
    // Old writers have a copy of the metadata behind the chunk, which is not copied.
    boolean inChunk = chunk.getFile_offset() >= start && chunk.getFile_offset() < start + length;
    chunk.setFile_offset(inChunk ? moved.moved(chunk.getFile_offset()) : 0);
    metadata.setData_page_offset(moved.moved(metadata.getData_page_offset()));
    if (metadata.isSetIndex_page_offset()) {
      metadata.setIndex_page_offset(moved.moved(metadata.getIndex_page_offset()));
    }
    if (hasDictionary(metadata)) {
      metadata.setDictionary_page_offset(moved.moved(metadata.getDictionary_page_offset()));
    }
    return moved;
  }

  private void copyBloomFilter(ColumnMetaData metadata) throws IOException, NotCopiedException {
    if (!metadata.isSetBloom_filter_offset()) {
      return;
    }
    long start = metadata.getBloom_filter_offset();
    long length =
        metadata.isSetBloom_filter_length()
            ? metadata.getBloom_filter_length()
            : bloomFilterLength(start);
    source.require(start, length);
    metadata.setBloom_filter_offset(position);
    source.copy(start, length, target);
    position += length;
  }

  /** Of a writer that says only where a filter begins. */
  private long bloomFilterLength(long start) throws IOException, NotCopiedException {
    byte[] bytes = source.read(start, source.atMost(start, HEADER));
    ByteArrayInputStream read = new ByteArrayInputStream(bytes);
    BloomFilterHeader header = Util.readBloomFilterHeader(read);
    return (bytes.length - read.available()) + (long) header.getNumBytes();
  }

  private void copyColumnIndex(ColumnChunk chunk) throws IOException, NotCopiedException {
    if (!chunk.isSetColumn_index_offset()) {
      return;
    }
    long start = chunk.getColumn_index_offset();
    source.require(start, chunk.getColumn_index_length());
    chunk.setColumn_index_offset(position);
    source.copy(start, chunk.getColumn_index_length(), target);
    position += chunk.getColumn_index_length();
  }

  private void moveOffsetIndex(Moved moved) throws IOException, NotCopiedException {
    ColumnChunk chunk = moved.chunk();
    if (!chunk.isSetOffset_index_offset()) {
      return;
    }
    byte[] bytes = source.read(chunk.getOffset_index_offset(), chunk.getOffset_index_length());
    OffsetIndex index = Util.readOffsetIndex(new ByteArrayInputStream(bytes));
    for (PageLocation page : index.getPage_locations()) {
      if (page.getOffset() < moved.start() || page.getOffset() >= moved.start() + moved.length()) {
        throw new NotCopiedException("a page is outside of its column");
      }
      page.setOffset(moved.moved(page.getOffset()));
    }
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    Util.writeOffsetIndex(index, written);
    chunk.setOffset_index_offset(position);
    chunk.setOffset_index_length(written.size());
    written.writeTo(target);
    position += written.size();
  }

  /** Before anything is written: chunks lie in the file and not in each other. */
  private void requireApart(List<RowGroup> groups) throws NotCopiedException {
    List<ColumnMetaData> chunks = new ArrayList<>();
    for (RowGroup group : groups) {
      for (ColumnChunk chunk : group.getColumns()) {
        chunks.add(chunk.getMeta_data());
        source.require(
            start(chunk.getMeta_data()), chunk.getMeta_data().getTotal_compressed_size());
      }
    }
    chunks.sort(Comparator.comparingLong(ChunkWriter::start));
    for (int i = 1; i < chunks.size(); i++) {
      ColumnMetaData before = chunks.get(i - 1);
      if (start(before) + before.getTotal_compressed_size() > start(chunks.get(i))) {
        throw new NotCopiedException("its columns lie in each other");
      }
    }
  }

  /** The first byte of a chunk; a dictionary offset of 0 is one of a writer that has none. */
  private static long start(ColumnMetaData chunk) {
    LongStream.Builder starts = LongStream.builder().add(chunk.getData_page_offset());
    if (hasDictionary(chunk)) {
      starts.add(chunk.getDictionary_page_offset());
    }
    if (chunk.isSetIndex_page_offset()) {
      starts.add(chunk.getIndex_page_offset());
    }
    return starts.build().min().getAsLong();
  }

  private static boolean hasDictionary(ColumnMetaData chunk) {
    return chunk.isSetDictionary_page_offset() && chunk.getDictionary_page_offset() > 0;
  }
}
