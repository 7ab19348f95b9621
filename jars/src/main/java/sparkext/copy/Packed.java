// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Serializes values to bytes with Java's serializer. An application may set Kryo as Spark's
 * serializer, which cannot serialize records.
 */
final class Packed {
  private Packed() {}

  static byte[] of(List<?> values) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream objects = new ObjectOutputStream(bytes)) {
      objects.writeObject(new ArrayList<>(values));
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }

  @SuppressWarnings("unchecked")
  static <T> List<T> unpack(byte[] bytes) {
    try (ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
      return (List<T>) objects.readObject();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    } catch (ClassNotFoundException otherJar) {
      throw new IllegalStateException(otherJar);
    }
  }
}
