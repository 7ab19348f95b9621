// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that every Hadoop has the members of S3A and its SDK that our classes name. */
class S3ALinkageTest {
  private static final List<byte[]> OURS =
      Linkage.classFiles(Path.of("target", "classes", "sparkext", "s3"));

  @ParameterizedTest
  @ValueSource(strings = {"3.4.1", "3.4.2", "3.5.0"})
  void hadoopHasTheMembersThatOurClassesName(String hadoop) throws IOException {
    Linkage linkage = new Linkage(classFiles(hadoop), S3ALinkageTest::isChecked);

    assertThat(linkage.broken(OURS)).isEmpty();
    assertThat(linkage.checkedMembers(OURS)).isGreaterThan(50);
  }

  private static boolean isChecked(String type) {
    return type.startsWith("org.apache.hadoop.fs.s3a.") || type.startsWith("software.amazon.");
  }

  private static ClassFileLocator classFiles(String hadoop) throws IOException {
    List<ClassFileLocator> found = new ArrayList<>();
    try (Stream<Path> jars = Files.list(Path.of("target", "s3a", hadoop))) {
      for (Path jar : jars.toList()) {
        found.add(ClassFileLocator.ForJarFile.of(jar.toFile()));
      }
    }
    found.add(Hiding.of(S3ALinkageTest::isChecked));
    return new ClassFileLocator.Compound(found);
  }
}
