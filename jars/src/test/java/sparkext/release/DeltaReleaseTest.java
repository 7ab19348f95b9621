// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import sparkext.delta.UsageTrackingFeature;

/** Tests the facts that are read from a jar of Delta. */
class DeltaReleaseTest {
  static List<DeltaJar> jars() {
    return DeltaJar.all();
  }

  @ParameterizedTest
  @MethodSource("jars")
  void releaseIsTestedIfItsJarIsHere(DeltaJar jar) {
    assertThat(DeltaRelease.isTested(jar.version())).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"4.0.2", "4.4.1", "4.4.0-SNAPSHOT", "4.4", "5.0.0", "(unknown version)"})
  void otherReleaseIsNotTested(String version) {
    assertThat(DeltaRelease.isTested(version)).isFalse();
  }

  @ParameterizedTest
  @MethodSource("jars")
  void noReleaseHasTheFeatureItself(DeltaJar jar) throws IOException {
    assertThat(DeltaRelease.ownFeature(jar.classFiles(), UsageTrackingFeature.NAME)).isEmpty();
  }

  /** Tests that features are found at all. Otherwise the test above would always pass. */
  @ParameterizedTest
  @MethodSource("jars")
  void featureOfDeltaIsFoundInEveryRelease(DeltaJar jar) throws IOException {
    assertThat(DeltaRelease.ownFeature(jar.classFiles(), "columnMapping"))
        .contains("org.apache.spark.sql.delta.ColumnMappingTableFeature$");
  }

  @Test
  void featureOfALaterDeltaIsFound() throws IOException {
    ClassFileLocator delta = jars().get(0).classFiles();
    String type = "org.apache.spark.sql.delta.AllowColumnDefaultsTableFeature$";
    byte[] renamed =
        renamed(delta.locate(type).resolve(), "allowColumnDefaults", UsageTrackingFeature.NAME);
    ClassFileLocator newer =
        new ClassFileLocator.Compound(ClassFileLocator.Simple.of(type, renamed), delta);

    assertThat(DeltaRelease.ownFeature(newer, UsageTrackingFeature.NAME)).contains(type);
  }

  @Test
  void deltaWithoutAListOfFeaturesHasNone() throws IOException {
    assertThat(DeltaRelease.ownFeature(ClassFileLocator.NoOp.INSTANCE, "any")).isEmpty();
  }

  /** Returns a class file in which one constant has another text, perhaps of another length. */
  private static byte[] renamed(byte[] classFile, String from, String to) {
    String text = new String(classFile, StandardCharsets.ISO_8859_1);
    return text.replace(constant(from), constant(to)).getBytes(StandardCharsets.ISO_8859_1);
  }

  private static String constant(String text) {
    return "\u0001\u0000" + (char) text.length() + text;
  }
}
