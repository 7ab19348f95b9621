// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import shaded.parquet.org.apache.thrift.TException;
import shaded.parquet.org.apache.thrift.protocol.TCompactProtocol;
import shaded.parquet.org.apache.thrift.protocol.TField;
import shaded.parquet.org.apache.thrift.protocol.TProtocolUtil;
import shaded.parquet.org.apache.thrift.transport.TIOStreamTransport;

/**
 * Finds binary extensions, which a writer may append to every Thrift structure.
 *
 * <p>A byte copy has no extensions, since each writer has its own form: Photon's is a second footer
 * with column names, values and offsets of the source. Readers do not need extensions, and Delta's
 * rewrite drops them as well.
 *
 * <p>Source: Parquet, BinaryProtocolExtensions.md.
 */
final class Extensions {
  private static final short FIELD = 32767;

  /** The id that Thrift decodes from the bytes that Parquet's document gives for this field. */
  private static final short FIELD_AS_WRITTEN = -16384;

  /** Source: Thrift, TType.java, which Parquet's jar lacks. */
  private static final byte STRING = 11;

  private static final byte STRUCT = 12;

  private Extensions() {}

  /**
   * Returns whether a structure has no unknown field except extensions.
   *
   * @param written the structure in the file
   * @param known the structure after it was read and written again
   */
  static boolean isAllElseKnown(byte[] written, byte[] known) {
    if (Arrays.equals(written, known)) {
      return true;
    }
    try {
      return Arrays.equals(new Reader(written).withoutExtensions(), known);
    } catch (TException broken) {
      return false;
    }
  }

  /** Reads any structure, and keeps all bytes except those of extensions. */
  private static final class Reader extends TCompactProtocol {
    private final byte[] written;
    private final ByteArrayInputStream rest;
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
    private int keptUpTo;

    Reader(byte[] written) throws TException {
      this(written, new ByteArrayInputStream(written));
    }

    private Reader(byte[] written, ByteArrayInputStream rest) throws TException {
      super(new TIOStreamTransport(rest));
      this.written = written;
      this.rest = rest;
    }

    byte[] withoutExtensions() throws TException {
      TProtocolUtil.skip(this, STRUCT);
      keepUpTo(written.length);
      return kept.toByteArray();
    }

    @Override
    public TField readFieldBegin() throws TException {
      int start = position();
      TField field = super.readFieldBegin();
      while (isExtension(field)) {
        readBinary();
        keepUpTo(start);
        keptUpTo = position();
        start = keptUpTo;
        field = super.readFieldBegin();
      }
      return field;
    }

    private static boolean isExtension(TField field) {
      return field.type == STRING && (field.id == FIELD || field.id == FIELD_AS_WRITTEN);
    }

    private int position() {
      return written.length - rest.available();
    }

    private void keepUpTo(int end) {
      kept.write(written, keptUpTo, end - keptUpTo);
    }
  }
}
