// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.io.IOException;
import java.util.function.Predicate;
import net.bytebuddy.dynamic.ClassFileLocator;

/** The class files of this class path without the types that a jar has to contain. */
record Hiding(Predicate<String> isHidden, ClassFileLocator classPath) implements ClassFileLocator {
  static Hiding of(Predicate<String> isHidden) {
    return new Hiding(isHidden, ForClassLoader.of(Hiding.class.getClassLoader()));
  }

  @Override
  public Resolution locate(String name) throws IOException {
    return isHidden.test(name) ? new Resolution.Illegal(name) : classPath.locate(name);
  }

  @Override
  public void close() throws IOException {
    classPath.close();
  }
}
