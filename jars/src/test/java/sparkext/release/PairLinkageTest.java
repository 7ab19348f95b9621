// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Whether our classes fit a whole installation: {@code make test-matrix} names its jars, Spark's
 * and one Delta's, in the system property {@code sparkext.pair}.
 */
@EnabledIfSystemProperty(named = PairLinkageTest.PAIR, matches = ".+")
class PairLinkageTest {
  static final String PAIR = "sparkext.pair";

  private static final Path CLASSES = Path.of("target", "classes");

  /** What our jar and the JVM bring, and what is Delta's own affair. */
  private static final List<String> BROUGHT =
      List.of("java.", "javax.", "sparkext.", "net.bytebuddy.", "io.delta.storage.");

  private static final Predicate<String> IS_CHECKED =
      name ->
          BROUGHT.stream().noneMatch(name::startsWith)
              && !name.equals("org.apache.spark.sql.delta.UsageTrackingBridge");

  @Test
  void allThatOurClassesNameIsThere() throws IOException {
    Linkage linkage = linkage();

    assertThat(linkage.broken(Linkage.classFiles(CLASSES))).isEmpty();
    assertThat(linkage.checkedMembers(Linkage.classFiles(CLASSES))).isGreaterThan(200);
  }

  @Test
  void ourClassesImplementAllThatIsAbstract() throws IOException {
    assertThat(linkage().unimplemented(Linkage.names(CLASSES))).isEmpty();
  }

  private static Linkage linkage() throws IOException {
    List<ClassFileLocator> jars = new ArrayList<>();
    for (String jar : System.getProperty(PAIR).split(File.pathSeparator)) {
      jars.add(ClassFileLocator.ForJarFile.of(new File(jar)));
    }
    ClassFileLocator classPath =
        ClassFileLocator.ForClassLoader.of(PairLinkageTest.class.getClassLoader());
    jars.add(
        new ClassFileLocator() {
          @Override
          public Resolution locate(String name) throws IOException {
            return IS_CHECKED.test(name) ? new Resolution.Illegal(name) : classPath.locate(name);
          }

          @Override
          public void close() {}
        });
    return new Linkage(new ClassFileLocator.Compound(jars), IS_CHECKED);
  }
}
