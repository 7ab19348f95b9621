// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.jar.asm.ClassVisitor;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Type;
import net.bytebuddy.utility.OpenedClassReader;
import sparkext.common.UsageTrackingErrors;

/**
 * Refuses a Delta on the class path that was built for another Spark.
 *
 * <p>Each release of Delta has a jar for every Spark that it supports, with the same classes. A
 * session with the jar for another Spark starts, and some statement fails with a NoSuchMethodError.
 * The jars differ in a parameter of {@code Relocated.createIncrementalExecution}, whose type Spark
 * moved in 4.1 and replaced in 4.2.
 *
 * <p>Source: Delta 4.1.0 to 4.4.0, spark/src/main/scala-shims, {@code
 * RelocatedStreamingClassesShims.scala}; Delta 4.0, {@code Relocated.scala}, is for Spark 4.0
 * alone.
 *
 * <p>Spark 4.1.2 removed an interface that the ALTER commands of Delta 4.1 and 4.2 implement.
 */
public final class DeltaBuild {
  private static final String RELOCATED = "org/apache/spark/sql/delta/Relocated$.class";
  private static final String ALTER =
      "org/apache/spark/sql/delta/commands/AlterTableSetPropertiesDeltaCommand.class";
  private static final String MARKED = "createIncrementalExecution";
  private static final int PLACE = 8;
  private static final String OF_DELTA_4_0 = "setActiveSession";
  private static final String STREAMING = "org.apache.spark.sql.execution.streaming.";

  private static final Map<String, String> SPARK_BY_MARK =
      Map.of(
          OF_DELTA_4_0,
          "4.0",
          STREAMING + "OffsetSeqMetadata",
          "4.0",
          STREAMING + "checkpointing.OffsetSeqMetadata",
          "4.1",
          STREAMING + "checkpointing.OffsetSeqMetadataBase",
          "4.2");

  private DeltaBuild() {}

  /**
   * Refuses a Delta that was built for another Spark. The hooks decide on a Delta without a known
   * mark, such as a later release.
   *
   * @throws sparkext.common.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION
   */
  public static void requireForThisSpark() throws IOException {
    ClassLoader loader = DeltaBuild.class.getClassLoader();
    try (InputStream relocated = loader.getResourceAsStream(RELOCATED)) {
      Optional<String> wanted = relocated == null ? Optional.empty() : spark(relocated);
      if (wanted.isPresent() && !isOfLine(Versions.spark(), wanted.get())) {
        throw refusal(" for Spark " + wanted.get());
      }
    }
    try (InputStream alter = loader.getResourceAsStream(ALTER)) {
      List<String> missing = alter == null ? List.of() : missing(alter, loader);
      if (!missing.isEmpty()) {
        throw refusal(", whose ALTER TABLE needs `" + missing.get(0) + "` of another Spark");
      }
    }
  }

  private static RuntimeException refusal(String misfit) {
    return UsageTrackingErrors.unsupportedSparkVersion(Versions.spark(), Versions.delta() + misfit)
        .sneakyThrow();
  }

  /** Returns the interfaces of a class file that a class loader lacks. */
  static List<String> missing(InputStream classFile, ClassLoader loader) throws IOException {
    return Stream.of(OpenedClassReader.of(classFile.readAllBytes()).getInterfaces())
        .filter(type -> loader.getResource(type + ".class") == null)
        .map(type -> type.replace('/', '.'))
        .toList();
  }

  /** Returns whether a version such as {@code 4.2.0-amzn-1} belongs to the line {@code 4.2}. */
  static boolean isOfLine(String version, String line) {
    return version.matches(Pattern.quote(line) + "(\\D.*)?");
  }

  /** Returns the line of Spark for which a class file of Delta's {@code Relocated} was compiled. */
  static Optional<String> spark(InputStream relocated) throws IOException {
    Marks marks = new Marks();
    ClassReader reader = OpenedClassReader.of(relocated.readAllBytes());
    reader.accept(marks, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    return Optional.ofNullable(marks.mark).map(SPARK_BY_MARK::get);
  }

  private static final class Marks extends ClassVisitor {
    private String mark;

    Marks() {
      super(OpenedClassReader.ASM_API);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      Type[] arguments = Type.getArgumentTypes(descriptor);
      if (name.equals(MARKED) && arguments.length > PLACE) {
        mark = arguments[PLACE].getClassName();
      } else if (name.equals(OF_DELTA_4_0) && mark == null) {
        mark = OF_DELTA_4_0;
      }
      return null;
    }
  }
}
