// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import sparkext.parquet.FooterFormat.Field;
import sparkext.parquet.FooterFormat.Structure;

/**
 * A Thrift structure with its values by field id. It keeps every value of the published format as
 * the file has it.
 *
 * <p>Source: Thrift, thrift-compact-protocol.md.
 */
final class ThriftStruct {
  private static final int LONGEST_DELTA = 15;
  private static final int LONGEST_SHORT_LIST = 14;

  private final Structure structure;

  /** Long for integers and doubles, Boolean, byte[], ThriftStruct, or a List of these; or null. */
  private final Object[] values;

  ThriftStruct(Structure structure) {
    this(structure, new Object[structure.fields().size()]);
  }

  private ThriftStruct(Structure structure, Object[] values) {
    this.structure = structure;
    this.values = values;
  }

  /** Returns a copy whose fields can be set without a change of this structure. */
  ThriftStruct copy() {
    return new ThriftStruct(structure, values.clone());
  }

  boolean isEmpty() {
    return Arrays.stream(values).allMatch(Objects::isNull);
  }

  boolean has(int id) {
    return values[id] != null;
  }

  /** Returns whether a field is set to this number. */
  boolean has(int id, long value) {
    return has(id) && number(id) == value;
  }

  long number(int id) {
    return (Long) values[id];
  }

  /** Returns a number; 0 if the field is not set. */
  long numberOrZero(int id) {
    return has(id) ? number(id) : 0;
  }

  /** Returns the text of a field; null if the field is not set. */
  String text(int id) {
    return has(id) ? new String((byte[]) values[id], StandardCharsets.UTF_8) : null;
  }

  /** Returns whether the bytes of a field are the text that {@link #text} returns. */
  boolean isText(int id) {
    return Arrays.equals(text(id).getBytes(StandardCharsets.UTF_8), (byte[]) values[id]);
  }

  ThriftStruct struct(int id) {
    return (ThriftStruct) values[id];
  }

  @SuppressWarnings("unchecked") // the field has the type of its structure
  List<ThriftStruct> structs(int id) {
    return (List<ThriftStruct>) values[id];
  }

  /** Returns the texts of a list. */
  List<String> texts(int id) {
    return ((List<?>) values[id])
        .stream().map(bytes -> new String((byte[]) bytes, StandardCharsets.UTF_8)).toList();
  }

  void put(int id, Object value) {
    values[id] = value;
  }

  void put(int id, String text) {
    values[id] = text.getBytes(StandardCharsets.UTF_8);
  }

  /** Sets the texts of a list. */
  void putTexts(int id, List<String> texts) {
    values[id] = texts.stream().map(text -> text.getBytes(StandardCharsets.UTF_8)).toList();
  }

  void remove(int id) {
    values[id] = null;
  }

  byte[] toBytes() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    write(bytes);
    return bytes.toByteArray();
  }

  private void write(ByteArrayOutputStream bytes) {
    int last = 0;
    for (int id = 1; id < values.length; id++) {
      if (values[id] != null) {
        Field field = structure.field(id);
        int type = Boolean.FALSE.equals(values[id]) ? FooterFormat.FALSE : field.type();
        int delta = id - last;
        if (delta <= LONGEST_DELTA) {
          bytes.write(delta << 4 | type);
        } else {
          bytes.write(type);
          writeSigned(id, bytes);
        }
        write(values[id], field, bytes);
        last = id;
      }
    }
    bytes.write(0);
  }

  private static void write(Object value, Field field, ByteArrayOutputStream bytes) {
    if (value instanceof ThriftStruct struct) {
      struct.write(bytes);
    } else if (value instanceof List<?> list) {
      int size = list.size();
      int elementType = field.element().type();
      bytes.write(Math.min(size, LONGEST_SHORT_LIST + 1) << 4 | elementType);
      if (size > LONGEST_SHORT_LIST) {
        writeUnsigned(size, bytes);
      }
      list.forEach(element -> write(element, field.element(), bytes));
    } else if (value instanceof byte[] binary) {
      writeUnsigned(binary.length, bytes);
      bytes.writeBytes(binary);
    } else if (value instanceof Long number) {
      switch (field.type()) {
        case FooterFormat.I8 -> bytes.write(number.intValue());
        case FooterFormat.DOUBLE ->
            bytes.writeBytes(
                ByteBuffer.allocate(Long.BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(number)
                    .array());
        default -> writeSigned(number, bytes);
      }
    }
    // The type of a field contains the value of a boolean. No known list has booleans.
  }

  private static void writeSigned(long number, ByteArrayOutputStream bytes) {
    writeUnsigned(number << 1 ^ number >> 63, bytes);
  }

  private static void writeUnsigned(long number, ByteArrayOutputStream bytes) {
    long rest = number;
    while ((rest & ~0x7FL) != 0) {
      bytes.write((int) (rest & 0x7F | 0x80));
      rest >>>= 7;
    }
    bytes.write((int) rest);
  }
}
