// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import shaded.parquet.org.apache.thrift.TBase;
import shaded.parquet.org.apache.thrift.TConfiguration;
import shaded.parquet.org.apache.thrift.TEnum;
import shaded.parquet.org.apache.thrift.TException;
import shaded.parquet.org.apache.thrift.TFieldIdEnum;
import shaded.parquet.org.apache.thrift.TUnion;
import shaded.parquet.org.apache.thrift.meta_data.EnumMetaData;
import shaded.parquet.org.apache.thrift.meta_data.FieldMetaData;
import shaded.parquet.org.apache.thrift.meta_data.FieldValueMetaData;
import shaded.parquet.org.apache.thrift.meta_data.ListMetaData;
import shaded.parquet.org.apache.thrift.meta_data.StructMetaData;
import shaded.parquet.org.apache.thrift.protocol.TCompactProtocol;
import shaded.parquet.org.apache.thrift.protocol.TField;
import shaded.parquet.org.apache.thrift.protocol.TList;
import shaded.parquet.org.apache.thrift.protocol.TProtocolException;
import shaded.parquet.org.apache.thrift.protocol.TProtocolUtil;
import shaded.parquet.org.apache.thrift.transport.TIOStreamTransport;

/**
 * Reads a structure of a footer, a page index or a bloom filter by the generated classes of
 * Parquet's format. The classes get the part that they know. The rest is reported, because a copy
 * would lose it.
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

  // The types of Thrift.
  private static final byte STOP = 0;
  private static final byte BOOL = 2;
  private static final byte I8 = 3;
  private static final byte DOUBLE = 4;
  private static final byte I16 = 6;
  private static final byte I32 = 8;
  private static final byte I64 = 10;
  private static final byte BINARY = 11;
  private static final byte STRUCT = 12;

  /** Precedes bytes that are no text, each as a character. Unicode assigns no character to it. */
  private static final String NO_TEXT = "\uFFFF";

  private static final Map<Class<?>, Map<Short, FieldValueMetaData>> FIELDS =
      new ConcurrentHashMap<>();

  private final ByteArrayInputStream bytes;
  private final TCompactProtocol source;
  private final ByteArrayOutputStream known = new ByteArrayOutputStream();
  private final TCompactProtocol target;
  private String unknown;

  ThriftReader(byte[] bytes) throws IOException {
    try {
      this.bytes = new ByteArrayInputStream(bytes);
      this.source = new TCompactProtocol(input(this.bytes));
      this.target = new TCompactProtocol(new TIOStreamTransport(known));
    } catch (TException impossible) {
      throw new IOException(impossible);
    }
  }

  /** Returns a transport that allows no value to be longer than the input. */
  private static TIOStreamTransport input(ByteArrayInputStream bytes) throws TException {
    int longest = Math.max(bytes.available(), 1);
    return new TIOStreamTransport(new TConfiguration(longest, longest, DEEPEST), bytes);
  }

  /**
   * Reads a structure, and ignores its unknown parts.
   *
   * @param structure without values
   */
  <T extends TBase<T, ?>> T read(T structure) throws IOException {
    try {
      copyStructure(structure.getClass());
      structure.read(new TCompactProtocol(input(new ByteArrayInputStream(known.toByteArray()))));
      return structure;
    } catch (TException | RuntimeException broken) {
      throw new IOException("no `" + structure.getClass().getSimpleName() + "`", broken);
    }
  }

  /** Returns a part that a copy of the structure would lose; null if it would lose none. */
  String problem() {
    if (unknown != null) {
      return "has the unknown " + unknown;
    }
    return remaining() > 0 ? "has " + remaining() + " bytes behind its end" : null;
  }

  /** Returns the number of bytes behind the structure. */
  int remaining() {
    return bytes.available();
  }

  private void report(String part, Class<?> lacking) {
    if (unknown == null) {
      unknown = part + " of `" + lacking.getSimpleName() + "`";
    }
  }

  private void copyStructure(Class<?> structure) throws TException {
    Map<Short, FieldValueMetaData> fields =
        FIELDS.computeIfAbsent(structure, ThriftReader::fieldsOf);
    boolean isUnion = TUnion.class.isAssignableFrom(structure);
    boolean hasMember = false;
    source.readStructBegin();
    target.writeStructBegin(null);
    TField field = source.readFieldBegin();
    for (; field.type != STOP; field = source.readFieldBegin()) {
      FieldValueMetaData type = fields.get(field.id);
      if (type != null && typeOf(type) == field.type && !(isUnion && hasMember)) {
        target.writeFieldBegin(field);
        copy(type);
        hasMember = true;
      } else {
        TProtocolUtil.skip(source, field.type, DEEPEST);
        boolean isExtension = field.id == EXTENSION || field.id == EXTENSION_AS_WRITTEN;
        if (!isExtension || field.type != BINARY) {
          report("field " + field.id, structure);
        }
      }
    }
    if (field.id != 0) {
      throw new TProtocolException("a field without a type");
    }
    if (isUnion && !hasMember) {
      report("value", structure); // readers fail without a member, as the class would
      target.writeFieldBegin(new TField("", STRUCT, (short) 1));
      target.writeStructBegin(null);
      target.writeFieldStop();
      target.writeStructEnd();
    }
    source.readStructEnd();
    target.writeFieldStop();
    target.writeStructEnd();
  }

  @SuppressWarnings({"rawtypes", "unchecked"}) // the type of a structure names itself
  private static Map<Short, FieldValueMetaData> fieldsOf(Class structure) {
    Map<Short, FieldValueMetaData> fields = new HashMap<>();
    Map<TFieldIdEnum, FieldMetaData> known = FieldMetaData.getStructMetaDataMap(structure);
    known.forEach((field, about) -> fields.put(field.getThriftFieldId(), about.valueMetaData));
    return fields;
  }

  private static byte typeOf(FieldValueMetaData value) {
    return value instanceof EnumMetaData ? I32 : value.type;
  }

  private void copy(FieldValueMetaData type) throws TException {
    switch (typeOf(type)) {
      case BOOL -> target.writeBool(source.readBool());
      case I8 -> target.writeByte(source.readByte());
      case I16 -> target.writeI16((short) readWithin(Short.MIN_VALUE, Short.MAX_VALUE));
      case I32 -> target.writeI32(readI32(type));
      case I64 -> target.writeI64(source.readI64());
      case DOUBLE -> target.writeDouble(source.readDouble());
      case BINARY -> {
        ByteBuffer written = source.readBinary();
        target.writeBinary(type.isBinary() ? written : ByteBuffer.wrap(text(written.array())));
      }
      case STRUCT -> copyStructure(((StructMetaData) type).structClass);
      default -> copyList(((ListMetaData) type).elemMetaData);
    }
  }

  private void copyList(FieldValueMetaData type) throws TException {
    TList list = source.readListBegin();
    if (list.size > 0 && list.elemType != typeOf(type)) {
      throw new TProtocolException("a list of another type");
    }
    target.writeListBegin(list);
    for (int i = 0; i < list.size; i++) {
      copy(type);
    }
  }

  private long readWithin(long smallest, long largest) throws TException {
    long number = source.readI64();
    if (number < smallest || number > largest) {
      throw new TProtocolException(number + " is out of range");
    }
    return number;
  }

  private int readI32(FieldValueMetaData type) throws TException {
    int number = (int) readWithin(Integer.MIN_VALUE, Integer.MAX_VALUE);
    if (type instanceof EnumMetaData named) {
      TEnum[] constants = named.enumClass.getEnumConstants();
      if (Arrays.stream(constants).noneMatch(constant -> constant.getValue() == number)) {
        report("value " + number, named.enumClass);
        return constants[0].getValue(); // without a known value, the structure could not be read
      }
    }
    return number;
  }

  private static byte[] text(byte[] written) {
    String text = new String(written, StandardCharsets.UTF_8);
    return isText(text) && Arrays.equals(text.getBytes(StandardCharsets.UTF_8), written)
        ? written
        : (NO_TEXT + new String(written, StandardCharsets.ISO_8859_1))
            .getBytes(StandardCharsets.UTF_8);
  }

  /** Returns whether a string of a structure was written as a text. */
  static boolean isText(String read) {
    return !read.startsWith(NO_TEXT);
  }

  /** Returns a structure as Thrift writes it, with the bytes of strings that are no text. */
  static byte[] bytes(TBase<?, ?> structure) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      structure.write(
          new TCompactProtocol(new TIOStreamTransport(bytes)) {
            @Override
            public void writeString(String text) throws TException {
              byte[] written =
                  isText(text)
                      ? text.getBytes(StandardCharsets.UTF_8)
                      : text.substring(1).getBytes(StandardCharsets.ISO_8859_1);
              writeBinary(ByteBuffer.wrap(written));
            }
          });
    } catch (TException incomplete) {
      throw new IOException(incomplete);
    }
    return bytes.toByteArray();
  }
}
