// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.pool.TypePool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import sparkext.error.Releases;
import sparkext.release.DeltaJar;
import sparkext.release.Versions;

/** The hooks against the jar of every supported release of Delta. */
class DeltaReleasesTest {
  static List<DeltaJar> jars() {
    return DeltaJar.all();
  }

  static Stream<Arguments> wovenTypes() {
    return jars().stream()
        .flatMap(
            jar ->
                needed(jar).stream()
                    .map(DeltaHook::typeName)
                    .distinct()
                    .filter(type -> !needsMore(jar, type))
                    .map(type -> Arguments.of(jar, type)));
  }

  /**
   * Of Spark 4.2 a command has a type that the class path lacks; sessions of that pair weave it.
   */
  private static boolean needsMore(DeltaJar jar, String typeName) {
    return jar.spark().equals("4.2") && typeName.endsWith("DeltaDynamicPartitionOverwriteCommand");
  }

  @Test
  void everySupportedReleaseHasAJarHere() {
    assertThat(jars().stream().map(DeltaJar::version).distinct().sorted().toList())
        .isEqualTo(Releases.DELTAS);
  }

  @ParameterizedTest
  @MethodSource("jars")
  void everyHookMatchesOneMethod(DeltaJar jar) {
    assertThat(weaver(jar).mismatches(needed(jar))).isEmpty();
  }

  /** A later patch release of Spark may take from any Delta what it calls. */
  @ParameterizedTest
  @MethodSource("jars")
  void aCommandThatMayBeUnlinkedIsFound(DeltaJar jar) {
    assertThat(weaver(jar).mismatches(List.copyOf(UnlinkedCommandHook.ALL))).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("wovenTypes")
  void aWovenTypeIsVerifiedAndHasTheSameMembers(DeltaJar jar, String typeName) throws Exception {
    List<DeltaHook> hooks =
        needed(jar).stream().filter(hook -> hook.typeName().equals(typeName)).toList();

    byte[] woven = weaver(jar).woven(hooks);

    assertThat(woven).isNotEqualTo(jar.classFiles().locate(typeName).resolve());
    assertThatCode(() -> verify(jar, typeName, woven)).doesNotThrowAnyException();
    // Redefinition of a loaded class allows changed bodies only.
    ClassFileLocator wovenOnly = ClassFileLocator.Simple.of(typeName, woven);
    assertThat(methods(new ClassFileLocator.Compound(wovenOnly, jar.classFiles()), typeName))
        .isEqualTo(methods(jar.classFiles(), typeName));
  }

  /**
   * Delta 4.0 drops features and reads changes otherwise, and rebases on fewer winners; 4.0.0 was
   * built for an earlier Spark than that of the class path.
   */
  @ParameterizedTest
  @MethodSource("jars")
  void aHookIsLeftOutWhereDeltaDoesNotDoWhatItIsFor(DeltaJar jar) {
    List<String> left =
        DeltaHooks.ALL.stream()
            .filter(hook -> !needed(jar).contains(hook))
            .map(DeltaHook::typeName)
            .map(name -> name.substring(name.lastIndexOf('.') + 1))
            .toList();

    List<String> expected =
        new ArrayList<>(
            jar.version().startsWith("4.0.")
                ? List.of("ConflictChecker", "CDCReaderBase")
                : List.of("OptimisticTransactionImpl", "CDCReaderImpl"));
    if (!jar.version().equals("4.0.0")) {
      expected.addAll(
          List.of(
              "DeltaPurgeOperation",
              "DeltaRewriteTypeWideningOperation",
              "DeletionVectorsPreDowngradeCommand",
              "TypeWideningPreDowngradeCommand",
              "ConvertUtilsBase"));
    }
    assertThat(left).isEqualTo(expected);
  }

  /** The neighbour lends the right to define classes, and loads no type that is to be woven. */
  @ParameterizedTest
  @MethodSource("jars")
  void everyNeighbourIsThere(DeltaJar jar) throws Exception {
    for (DeltaHook hook : needed(jar)) {
      assertThat(jar.classFiles().locate(hook.neighbourName()).isResolved()).isTrue();
    }
  }

  /** HotSpot links a class before it tells its constructors, and verifies it then. */
  private static void verify(DeltaJar jar, String typeName, byte[] classFile)
      throws ClassNotFoundException {
    Class.forName(typeName, false, jar.loaderWith(typeName, classFile)).getDeclaredConstructors();
  }

  private static List<String> methods(ClassFileLocator classFiles, String typeName) {
    return TypePool.Default.of(classFiles)
        .describe(typeName)
        .resolve()
        .getDeclaredMethods()
        .stream()
        .map(MethodDescription::toGenericString)
        .sorted()
        .toList();
  }

  /** What a Delta calls of a Spark is looked up where the class path has that Spark. */
  private static List<DeltaHook> needed(DeltaJar jar) {
    boolean isOfThisSpark = Versions.spark().startsWith(jar.spark());
    return weaver(jar).needed(DeltaHooks.ALL).stream()
        .filter(hook -> isOfThisSpark || !(hook instanceof UnlinkedCommandHook))
        .toList();
  }

  private static HookWeaver weaver(DeltaJar jar) {
    return new HookWeaver(jar.classFiles(), DeltaReleasesTest.class.getClassLoader());
  }
}
