// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.jar.asm.ClassVisitor;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Opcodes;
import net.bytebuddy.pool.TypePool;
import net.bytebuddy.utility.OpenedClassReader;

/**
 * The constructors of Spark that a command of Delta calls, and whether they are there.
 *
 * <p>A Delta that was built for an earlier patch release of Spark starts and works, but for a
 * command that dies in a task with a NoSuchMethodError.
 *
 * <p>Source: Delta 4.0.0, {@code ReorgTableHelper.scala} and {@code ParquetFileManifest.scala},
 * whose {@code ParquetToSparkSchemaConverter} has a further parameter since Spark 4.0.1.
 */
public final class SparkCalls {
  /** The class of Delta that looks into data files for REORG TABLE and what comes to the same. */
  public static final String REORG_HELPER = "org.apache.spark.sql.delta.commands.ReorgTableHelper";

  private static final String SPARK = "org/apache/spark/";
  private static final String DELTA = SPARK + "sql/delta/";

  private SparkCalls() {}

  /**
   * The constructors that a class of Delta calls and this Spark does not have.
   *
   * @param caller the binary name of the class
   * @param classFiles finds the class files of both
   */
  public static List<String> missing(String caller, ClassFileLocator classFiles)
      throws IOException {
    ClassFileLocator.Resolution classFile = classFiles.locate(caller);
    if (!classFile.isResolved()) {
      return List.of();
    }
    Constructors called = new Constructors();
    OpenedClassReader.of(classFile.resolve()).accept(called, 0);
    TypePool types = TypePool.Default.of(classFiles);
    return called.found.stream().filter(each -> !each.isIn(types)).map(Constructor::text).toList();
  }

  /**
   * Whether REORG TABLE finds in this Spark what it calls.
   *
   * @param delta the loader that Delta is in
   */
  public static boolean canReorg(ClassLoader delta) throws IOException {
    return missing(REORG_HELPER, ClassFileLocator.ForClassLoader.of(delta)).isEmpty();
  }

  private record Constructor(String owner, String descriptor) {
    boolean isIn(TypePool types) {
      TypePool.Resolution type = types.describe(owner.replace('/', '.'));
      return type.isResolved() && has(type.resolve());
    }

    private boolean has(TypeDescription type) {
      return type.getDeclaredMethods().stream()
          .anyMatch(method -> method.isConstructor() && method.getDescriptor().equals(descriptor));
    }

    String text() {
      return owner.replace('/', '.') + descriptor.substring(0, descriptor.indexOf(')') + 1);
    }
  }

  private static final class Constructors extends ClassVisitor {
    private final Set<Constructor> found = new LinkedHashSet<>();

    Constructors() {
      super(OpenedClassReader.ASM_API);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      return new MethodVisitor(api) {
        @Override
        public void visitMethodInsn(
            int opcode, String owner, String method, String called, boolean ofInterface) {
          if (opcode == Opcodes.INVOKESPECIAL
              && method.equals("<init>")
              && owner.startsWith(SPARK)
              && !owner.startsWith(DELTA)) {
            found.add(new Constructor(owner, called));
          }
        }
      };
    }
  }
}
