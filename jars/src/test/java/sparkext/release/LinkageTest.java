// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.MemberRemoval;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;
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
    byte[] changed =
        new ByteBuddy()
            .decorate(
                TypePool.Default.of(jar.classFiles()).describe(type).resolve(), jar.classFiles())
            .visit(
                new MemberRemoval()
                    .stripMethods(ElementMatchers.named("cannotModifyTableProperty")))
            .make()
            .getBytes();
    ClassFileLocator without =
        new ClassFileLocator.Compound(ClassFileLocator.Simple.of(type, changed), jar.classFiles());

    assertThat(new Linkage(without, DeltaJar::holds).broken(OURS))
        .containsExactly(
            "static "
                + type
                + ".cannotModifyTableProperty (Ljava/lang/String;)Ljava/lang/Throwable;");
  }

  @Test
  void missingTypeIsNamed() {
    ClassFileLocator none = ClassFileLocator.NoOp.INSTANCE;

    assertThat(new Linkage(none, DeltaJar::holds).broken(OURS))
        .contains("org.apache.spark.sql.delta.Snapshot");
  }
}
