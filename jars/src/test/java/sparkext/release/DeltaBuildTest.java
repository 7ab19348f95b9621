// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.List;
import java.util.Optional;
import net.bytebuddy.jar.asm.ClassWriter;
import net.bytebuddy.jar.asm.Opcodes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests how class files show for which Spark a Delta was built. */
class DeltaBuildTest {
  private static final String RELOCATED = "org.apache.spark.sql.delta.Relocated$";
  private static final String ALTER =
      "org.apache.spark.sql.delta.commands.AlterTableSetPropertiesDeltaCommand";

  record RemovedClass(String name, String since, List<String> neededBy) {
    String file() {
      return name.replace('.', '/') + ".class";
    }
  }

  @ParameterizedTest
  @MethodSource("sparkext.release.DeltaJar#all")
  void markAgreesWithTheNameOfTheJar(DeltaJar delta) throws IOException {
    byte[] relocated = delta.classFiles().locate(RELOCATED).resolve();

    assertThat(DeltaBuild.spark(new ByteArrayInputStream(relocated))).contains(delta.spark());
  }

  /** The Spark on the class path has the class, so the test hides the class. */
  @ParameterizedTest
  @MethodSource("sparkext.release.DeltaJar#all")
  void alterCommandsOfSomeReleasesNeedAClassThatALaterSparkRemoved(DeltaJar delta)
      throws IOException {
    byte[] alter = delta.classFiles().locate(ALTER).resolve();
    List<RemovedClass> removed = removedClasses();
    ClassLoader newer =
        new ClassLoader(getClass().getClassLoader()) {
          @Override
          public URL getResource(String file) {
            boolean isGone = removed.stream().anyMatch(type -> type.file().equals(file));
            return isGone ? null : super.getResource(file);
          }
        };

    List<String> missing = DeltaBuild.missing(new ByteArrayInputStream(alter), newer);

    assertThat(missing)
        .isEqualTo(
            removed.stream()
                .filter(type -> type.neededBy().contains(delta.version()))
                .map(RemovedClass::name)
                .toList());
  }

  private static List<RemovedClass> removedClasses() throws IOException {
    try (InputStream list = DeltaBuild.class.getResourceAsStream("/spark_ext/releases.json")) {
      ObjectMapper mapper = new ObjectMapper();
      JsonNode listed = mapper.readTree(list).required("removedClasses");
      return List.of(mapper.treeToValue(listed, RemovedClass[].class));
    }
  }

  @Test
  void deltaWithoutAKnownMarkNamesNoSpark() throws IOException {
    assertThat(spark("createIncrementalExecution", "()V")).isEmpty();
    assertThat(spark("createIncrementalExecution", "(IIIIIIIILnew/Metadata;)V")).isEmpty();
    assertThat(spark("other", "()V")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "4.2.0, true",
    "4.2, true",
    "4.2.1-amzn-0, true",
    "4.2-SNAPSHOT, true",
    "4.20.0, false",
    "4.1.2, false",
    "14.2.0, false"
  })
  void versionBelongsToItsLine(String version, boolean isOfLine) {
    assertThat(DeltaBuild.isOfLine(version, "4.2")).isEqualTo(isOfLine);
  }

  private static Optional<String> spark(String method, String descriptor) throws IOException {
    ClassWriter type = new ClassWriter(0);
    type.visit(Opcodes.V17, Opcodes.ACC_PUBLIC, "Relocated$", null, "java/lang/Object", null);
    type.visitMethod(Opcodes.ACC_PUBLIC | Opcodes.ACC_ABSTRACT, method, descriptor, null, null);
    return DeltaBuild.spark(new ByteArrayInputStream(type.toByteArray()));
  }
}
