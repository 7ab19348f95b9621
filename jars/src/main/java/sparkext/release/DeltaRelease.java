// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.jar.asm.ClassReader;
import sparkext.common.Releases;

/** Reads facts from the class files of the Delta on the class path, without loading them. */
public final class DeltaRelease {
  private static final String FEATURES = "org.apache.spark.sql.delta.TableFeature$";
  private static final String DELTA = "org/apache/spark/sql/delta/";
  private static final int CLASS_CONSTANT = 7;
  private static final int STRING_CONSTANT = 8;

  private DeltaRelease() {}

  /** Returns whether a release was tested. Hooks that match are woven into any release. */
  public static boolean isTested(String version) {
    return Releases.DELTAS.contains(version);
  }

  /**
   * Returns the class of a table feature that this Delta has itself, if it has the feature.
   *
   * <p>{@code TableFeature$} lists all features of a Delta, so it names the class; the class passes
   * the feature's name to its constructor.
   *
   * <p>Source: Delta 4.4.0, TableFeature.scala, {@code allSupportedFeaturesMap}.
   */
  public static Optional<String> ownFeature(ClassFileLocator delta, String feature)
      throws IOException {
    ClassFileLocator.Resolution features = delta.locate(FEATURES);
    if (!features.isResolved()) {
      return Optional.empty(); // the hook reports that it matches nothing
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

  /** Returns the texts of all constants of a kind in a class file. */
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
