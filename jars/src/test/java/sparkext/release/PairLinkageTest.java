// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Tests that an installation has the members that our classes name. {@code make test-java} and
 * {@code make test-pairs} name the jars of Spark and of one Delta in the system property {@code
 * sparkext.pair}.
 */
@EnabledIfSystemProperty(named = PairLinkageTest.PAIR, matches = ".+")
class PairLinkageTest {
  static final String PAIR = "sparkext.pair";

  private static final Predicate<String> IS_SPARKS =
      name ->
          name.startsWith("org.apache.spark.") && !name.startsWith("org.apache.spark.sql.delta.");

  @Test
  void pairHasTheMembersThatOurClassesName() throws IOException {
    Linkage linkage = linkage(Linkage::isOfSparkOrDelta);

    assertThat(linkage.broken(Shims.others())).isEmpty();
    assertThat(linkage.broken(Shims.adapting())).isEqualTo(Shims.missingIn(delta()));
    assertThat(linkage.checkedMembers(Shims.others())).isGreaterThan(200);
  }

  /** A later patch of Spark may have removed a type. */
  @Test
  void sparkHasTheTypesThatDeltaNames() throws IOException {
    Path delta = pair().get(pair().size() - 1);

    assertThat(delta.getFileName().toString()).startsWith("delta-spark_");
    assertThat(linkage(IS_SPARKS).missing(classFiles(delta))).isEmpty();
  }

  @Test
  void classesThatAdaptToNoReleaseImplementAllAbstractMethods() throws IOException {
    assertThat(linkage(Linkage::isOfSparkOrDelta).unimplemented(Shims.others())).isEmpty();
  }

  private static List<byte[]> classFiles(Path jar) throws IOException {
    try (FileSystem inside = FileSystems.newFileSystem(jar)) {
      return Linkage.classFiles(inside.getPath("/"));
    }
  }

  /** Returns the version in the name of Delta's jar. */
  private static String delta() {
    String name = pair().get(pair().size() - 1).getFileName().toString();
    return name.substring(name.lastIndexOf('-') + 1, name.length() - ".jar".length());
  }

  /** Returns the jars of Spark, then the jar of Delta. */
  private static List<Path> pair() {
    return Stream.of(System.getProperty(PAIR).split(File.pathSeparator)).map(Path::of).toList();
  }

  private static Linkage linkage(Predicate<String> isChecked) throws IOException {
    List<ClassFileLocator> jars = new ArrayList<>();
    for (Path jar : pair()) {
      jars.add(ClassFileLocator.ForJarFile.of(jar.toFile()));
    }
    jars.add(Hiding.of(Linkage::isOfSparkOrDelta));
    return new Linkage(new ClassFileLocator.Compound(jars), isChecked);
  }
}
