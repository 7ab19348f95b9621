// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static net.bytebuddy.matcher.ElementMatchers.named;

import java.io.IOException;
import java.util.function.Predicate;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.MemberRemoval;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.pool.TypePool;

/** The class files of this class path, without the types that a test hides. */
public record Hiding(Predicate<String> isHidden, ClassFileLocator classPath)
    implements ClassFileLocator {
  static Hiding of(Predicate<String> isHidden) {
    return new Hiding(isHidden, ForClassLoader.of(Hiding.class.getClassLoader()));
  }

  /** Returns class files in which a type lacks the methods of a name. */
  public static ClassFileLocator method(
      ClassFileLocator classFiles, String typeName, String methodName) {
    byte[] changed =
        new ByteBuddy()
            .decorate(TypePool.Default.of(classFiles).describe(typeName).resolve(), classFiles)
            .visit(new MemberRemoval().stripMethods(named(methodName)))
            .make()
            .getBytes();
    return new Compound(Simple.of(typeName, changed), classFiles);
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
