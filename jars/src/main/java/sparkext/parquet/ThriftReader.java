// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import sparkext.parquet.FooterFormat.Field;
import sparkext.parquet.FooterFormat.Structure;

/**
 * Reads structures in Thrift's compact protocol.
 *
 * <p>The result lacks binary extensions. A writer may append one to any structure, in its own
 * format. Photon's is a second footer with column names, values and offsets of the source. Readers
 * do not need extensions, and Delta's rewrite drops them as well.
 *
 * <p>Source: Thrift, thrift-compact-protocol.md; Parquet, BinaryProtocolExtensions.md.
 */
final class ThriftReader {
  private static final int EXTENSION = 32767;

  /** The id that Thrift decodes from the bytes that Parquet's document gives for an extension. */
  private static final int EXTENSION_AS_WRITTEN = -16384;

  /** Known structures are less deep. */
  private static final int DEEPEST = 64;

  private final ByteBuffer bytes;
  private String unknown;

  ThriftReader(byte[] bytes) {
    this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Reads a structure, and ignores its unknown fields. */
  ThriftStruct read(Structure structure) throws IOException {
    try {
      return struct(structure);
    } catch (BufferUnderflowException | IllegalArgumentException broken) {
      throw new IOException("no `" + structure.name() + "`", broken);
    }
  }

  /**
   * Throws if a structure had a field that the published format lacks, or that has another type
   * there, or bytes behind its end. A copy would lose them.
   *
   * @param what contains the structure
   */
  void requireKnown(String what) throws NotCopyableException {
    if (problem() != null) {
      throw new NotCopyableException(what + " " + problem());
    }
  }

  /** Returns what a copy would lose, or null. */
  String problem() {
    if (unknown != null) {
      return "has the unknown " + unknown;
    }
    return bytes.hasRemaining() ? "has " + bytes.remaining() + " bytes behind its end" : null;
  }

  int position() {
    return bytes.position();
  }

  private ThriftStruct struct(Structure structure) throws IOException {
    ThriftStruct struct = new ThriftStruct(structure);
    int id = 0;
    for (int header = unsignedByte(); header != 0; header = unsignedByte()) {
      int type = header & 0x0F;
      id = header >> 4 == 0 ? (short) signed() : id + (header >> 4);
      Field field = structure.field(id);
      if (field != null && field.hasType(type)) {
        struct.put(id, type == FooterFormat.LIST ? list(field) : value(type, field));
      } else {
        skip(type, 0);
        boolean isExtension = id == EXTENSION || id == EXTENSION_AS_WRITTEN;
        if (unknown == null && !(isExtension && type == FooterFormat.BINARY)) {
          unknown = "field " + id + " of `" + structure.name() + "`";
        }
      }
    }
    if (structure.isUnion() && struct.isEmpty() && unknown == null) {
      unknown = "value of `" + structure.name() + "`"; // readers fail without a member
    }
    for (int required = 1; required < structure.fields().size(); required++) {
      Field field = structure.field(required);
      if (field != null && field.isRequired() && !struct.has(required)) {
        throw new IOException("no field " + required + " in `" + structure.name() + "`");
      }
    }
    return struct;
  }

  private Object value(int type, Field field) throws IOException {
    return switch (type) {
      case FooterFormat.TRUE -> true;
      case FooterFormat.FALSE -> false;
      case FooterFormat.I8 -> (long) bytes.get();
      case FooterFormat.I16 -> within(Short.MIN_VALUE, Short.MAX_VALUE);
      case FooterFormat.I32 -> within(Integer.MIN_VALUE, Integer.MAX_VALUE);
      case FooterFormat.I64 -> signed();
      case FooterFormat.DOUBLE -> bytes.getLong();
      case FooterFormat.BINARY -> binary();
      case FooterFormat.STRUCT -> struct(field.structure());
      default -> throw new IOException("a list of lists");
    };
  }

  private List<Object> list(Field field) throws IOException {
    int header = unsignedByte();
    long size = listSize(header);
    int type = header & 0x0F;
    if (size > 0 && type != field.element().type()) {
      throw new IOException("a list of another type");
    }
    List<Object> list = new ArrayList<>();
    for (long i = 0; i < size; i++) {
      list.add(value(type, field.element()));
    }
    return list;
  }

  private long listSize(int header) {
    return header >> 4 == 0x0F ? length() : header >> 4;
  }

  private void skip(int type, int depth) throws IOException {
    if (depth > DEEPEST) {
      throw new IOException("a structure of too many levels");
    }
    switch (type) {
      case FooterFormat.TRUE, FooterFormat.FALSE -> {}
      case FooterFormat.I8 -> bytes.get();
      case FooterFormat.I16, FooterFormat.I32, FooterFormat.I64 -> unsigned();
      case FooterFormat.DOUBLE -> bytes.getLong();
      case FooterFormat.BINARY -> binary();
      case FooterFormat.LIST, FooterFormat.SET -> {
        int header = unsignedByte();
        long size = listSize(header);
        for (long i = 0; i < size; i++) {
          skipElement(header & 0x0F, depth);
        }
      }
      case FooterFormat.MAP -> {
        long size = length();
        int types = size == 0 ? 0 : unsignedByte();
        for (long i = 0; i < size; i++) {
          skipElement(types >> 4, depth);
          skipElement(types & 0x0F, depth);
        }
      }
      case FooterFormat.STRUCT -> {
        for (int header = unsignedByte(); header != 0; header = unsignedByte()) {
          if (header >> 4 == 0) {
            unsigned();
          }
          skip(header & 0x0F, depth + 1);
        }
      }
      default -> throw new IOException("the type " + type);
    }
  }

  /** Skips an element: unlike a field, a boolean has a byte of its own. */
  private void skipElement(int type, int depth) throws IOException {
    boolean isBoolean = type == FooterFormat.TRUE || type == FooterFormat.FALSE;
    skip(isBoolean ? FooterFormat.I8 : type, depth + 1);
  }

  private int unsignedByte() {
    return bytes.get() & 0xFF;
  }

  /** Reads a number of bytes, or of elements of at least one byte each. */
  private int length() {
    long length = unsigned();
    if (length < 0 || length > bytes.remaining()) {
      throw new BufferUnderflowException();
    }
    return (int) length;
  }

  private byte[] binary() {
    byte[] binary = new byte[length()];
    bytes.get(binary);
    return binary;
  }

  private long within(long smallest, long largest) {
    long number = signed();
    if (number < smallest || number > largest) {
      throw new IllegalArgumentException(number + " is out of range");
    }
    return number;
  }

  private long signed() {
    long number = unsigned();
    return number >>> 1 ^ -(number & 1);
  }

  private long unsigned() {
    long number = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      int next = bytes.get();
      number |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        return number;
      }
    }
    throw new IllegalArgumentException("a number of more than 10 bytes");
  }
}
