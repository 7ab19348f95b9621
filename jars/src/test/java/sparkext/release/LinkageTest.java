// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that the jar of every supported Delta has the members that our classes name. */
class LinkageTest {
  private static final List<byte[]> OURS = Shims.others();

  static List<DeltaJar> jars() {
    return DeltaJar.all();
  }

  @ParameterizedTest
  @MethodSource("jars")
  void everyDeltaHasTheMembersThatOurClassesName(DeltaJar jar) {
    Linkage linkage = new Linkage(jar.classFiles(), DeltaJar::holds);

    assertThat(linkage.broken(OURS)).isEmpty();
    assertThat(linkage.checkedMembers(OURS)).isGreaterThan(50);
  }

  @ParameterizedTest
  @MethodSource("jars")
  void shimsNameTheMembersThatSomeReleasesLack(DeltaJar jar) {
    Linkage linkage = new Linkage(jar.classFiles(), DeltaJar::holds);

    assertThat(linkage.broken(Shims.adapting())).isEqualTo(Shims.missingIn(jar.version()));
  }

  @Test
  void missingMethodIsNamed() {
    DeltaJar jar = jars().get(jars().size() - 1);
    String type = "org.apache.spark.sql.delta.DeltaErrors";
    ClassFileLocator without = Hiding.method(jar.classFiles(), type, "cannotModifyTableProperty");

    assertThat(new Linkage(without, DeltaJar::holds).broken(OURS))
        .containsExactly(
            type + ".cannotModifyTableProperty (Ljava/lang/String;)Ljava/lang/Throwable;");
  }

  @Test
  void missingTypeIsNamed() {
    ClassFileLocator none = ClassFileLocator.NoOp.INSTANCE;

    assertThat(new Linkage(none, DeltaJar::holds).broken(OURS))
        .contains("org.apache.spark.sql.delta.Snapshot");
  }
}
