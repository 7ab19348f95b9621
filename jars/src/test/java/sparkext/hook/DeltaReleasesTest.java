// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import net.bytebuddy.description.NamedElement;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.pool.TypePool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import sparkext.common.Releases;
import sparkext.release.DeltaJar;

/** Tests the hooks with the jar of every supported release of Delta. */
class DeltaReleasesTest {
  static List<DeltaJar> jars() {
    return DeltaJar.all();
  }

  static Stream<Arguments> wovenTypes() {
    return jars().stream()
        .flatMap(
            jar ->
                needed(jar).stream()
                    .map(hook -> hook.method().typeName())
                    .distinct()
                    .filter(type -> !needsMore(jar, type))
                    .map(type -> Arguments.of(jar, type)));
  }

  /** Returns whether a type needs a type of Spark 4.2 that the class path lacks. */
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
    TypePool types = TypePool.Default.of(jar.classFiles());

    assertThat(weaver(jar).mismatches(needed(jar))).isEmpty();
    for (DeltaHook hook : needed(jar)) {
      assertThat(
              HookedMethod.methods(types, hook.method().typeName()).filter(hook.method().matcher()))
          .as(hook.key())
          .hasSize(1);
    }
  }

  @ParameterizedTest
  @MethodSource("wovenTypes")
  void wovenTypeIsVerifiedAndHasTheSameMembers(DeltaJar jar, String typeName) throws Exception {
    List<DeltaHook> hooks =
        needed(jar).stream().filter(hook -> hook.method().typeName().equals(typeName)).toList();

    byte[] woven = weaver(jar).woven(hooks);

    assertThat(woven).isNotEqualTo(jar.classFiles().locate(typeName).resolve());
    assertThatCode(() -> verify(jar, typeName, woven)).doesNotThrowAnyException();
    // Redefinition of a loaded class allows changed bodies only.
    ClassFileLocator wovenOnly = ClassFileLocator.Simple.of(typeName, woven);
    assertThat(members(new ClassFileLocator.Compound(wovenOnly, jar.classFiles()), typeName))
        .isEqualTo(members(jar.classFiles(), typeName));
  }

  /** Delta 4.0 reads changes and rebases on winning commits in other classes. */
  @ParameterizedTest
  @MethodSource("jars")
  void hookIsOmittedWhenDeltaDoesNotNeedTheHook(DeltaJar jar) {
    List<String> omitted =
        DeltaHooks.ALL.stream()
            .filter(hook -> !needed(jar).contains(hook))
            .map(hook -> hook.method().typeName())
            .map(name -> name.substring(name.lastIndexOf('.') + 1))
            .toList();

    assertThat(omitted)
        .isEqualTo(
            jar.version().startsWith("4.0.")
                ? List.of("ConflictChecker", "CDCReaderBase")
                : List.of("OptimisticTransactionImpl", "CDCReaderImpl"));
  }

  /** Hooks define classes in the package of a neighbour, which must not load a woven type. */
  @ParameterizedTest
  @MethodSource("jars")
  void everyNeighbourIsOfThePackageAndLoadsNoWovenType(DeltaJar jar) throws Exception {
    List<String> woven = needed(jar).stream().map(hook -> hook.method().typeName()).toList();
    for (HookedMethod method : needed(jar).stream().map(DeltaHook::method).toList()) {
      assertThat(packageOf(method.neighbourName())).isEqualTo(packageOf(method.typeName()));
      assertThat(loadedWith(jar, method.neighbourName()))
          .contains(method.neighbourName())
          .doesNotContainAnyElementsOf(woven);
    }
  }

  private static String packageOf(String type) {
    return type.substring(0, type.lastIndexOf('.'));
  }

  /** Returns a type and those of its supertypes that the jar or the class path contains. */
  private static List<String> loadedWith(DeltaJar jar, String type) throws IOException {
    ClassFileLocator.Resolution file = jar.classFiles().locate(type);
    List<String> loaded = new ArrayList<>();
    if (file.isResolved()) {
      ClassReader reader = new ClassReader(file.resolve());
      loaded.add(type);
      for (String parent : reader.getInterfaces()) {
        loaded.addAll(loadedWith(jar, parent.replace('/', '.')));
      }
      if (reader.getSuperName() != null) {
        loaded.addAll(loadedWith(jar, reader.getSuperName().replace('/', '.')));
      }
    }
    return loaded;
  }

  /** Makes HotSpot verify a class: HotSpot links a class before it returns the constructors. */
  private static void verify(DeltaJar jar, String typeName, byte[] classFile)
      throws ClassNotFoundException {
    Class.forName(typeName, false, jar.loaderWith(typeName, classFile)).getDeclaredConstructors();
  }

  private static List<String> members(ClassFileLocator classFiles, String typeName) {
    TypeDescription type = TypePool.Default.of(classFiles).describe(typeName).resolve();
    return Stream.<NamedElement.WithGenericName>concat(
            type.getDeclaredFields().stream(), type.getDeclaredMethods().stream())
        .map(NamedElement.WithGenericName::toGenericString)
        .sorted()
        .toList();
  }

  private static List<DeltaHook> needed(DeltaJar jar) {
    return weaver(jar).needed(DeltaHooks.ALL);
  }

  private static HookWeaver weaver(DeltaJar jar) {
    return new HookWeaver(jar.classFiles(), DeltaReleasesTest.class.getClassLoader());
  }
}
