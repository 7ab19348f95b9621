// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.jar.asm.ClassReader;
import sparkext.error.Releases;

/** What the Delta on the class path is, beyond whether the hooks match: read, never loaded. */
public final class DeltaRelease {
  private static final String FEATURES = "org.apache.spark.sql.delta.TableFeature$";
  private static final String DELTA = "org/apache/spark/sql/delta/";
  private static final int CLASS_CONSTANT = 7;
  private static final int STRING_CONSTANT = 8;

  private DeltaRelease() {}

  /** Whether the hooks were tried on this release; where they match, they are woven anyway. */
  public static boolean isTested(String version) {
    return Releases.DELTAS.contains(version);
  }

  /**
   * The class by which a Delta brings a table feature itself, if it does.
   *
   * <p>It is among the classes that {@code TableFeature$} names, since that lists all features of a
   * Delta, and passes the feature's name to its constructor.
   *
   * <p>Source: Delta 4.4.0, TableFeature.scala, {@code allSupportedFeaturesMap}.
   */
  public static Optional<String> ownFeature(ClassFileLocator delta, String feature)
      throws IOException {
    ClassFileLocator.Resolution features = delta.locate(FEATURES);
    if (!features.isResolved()) {
      return Optional.empty(); // the hook says that it matches nothing
    }
    List<String> named = constants(features.resolve(), CLASS_CONSTANT);
    for (String type : named.stream().filter(name -> name.startsWith(DELTA)).sorted().toList()) {
      String name = type.replace('/', '.');
      ClassFileLocator.Resolution file = delta.locate(name);
      if (file.isResolved() && constants(file.resolve(), STRING_CONSTANT).contains(feature)) {
        return Optional.of(name);
      }
    }
    return Optional.empty();
  }

  /** The texts of all constants of a kind in a class file. */
  private static List<String> constants(byte[] classFile, int tag) {
    ClassReader reader = new ClassReader(classFile);
    char[] buffer = new char[reader.getMaxStringLength()];
    List<String> found = new ArrayList<>();
    for (int item = 1; item < reader.getItemCount(); item++) {
      int offset = reader.getItem(item); // 0 for the second half of a long or a double
      if (offset > 0 && reader.readByte(offset - 1) == tag) {
        found.add(reader.readUTF8(offset, buffer));
      }
    }
    return found;
  }
}
