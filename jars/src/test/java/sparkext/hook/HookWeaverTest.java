// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.UnaryOperator;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import sparkext.hook.sample.LoadedBesides;
import sparkext.hook.sample.LoadedEarly;
import sparkext.hook.sample.LoadedLate;
import sparkext.hook.sample.LoadedWithTwoHooks;
import sparkext.hook.sample.Neighbour;

/** What a woven method does; the advice is the real one, the woven classes are samples. */
class HookWeaverTest {
  private static final ClassLoader LOADER = HookWeaverTest.class.getClassLoader();
  private static final ClassFileLocator CLASS_PATH = ClassFileLocator.ForClassLoader.of(LOADER);

  @AfterEach
  void restoreBridge() {
    UsageTrackingBridge.supportedFeatures = UnaryOperator.identity();
    UsageTrackingBridge.comparedProperties = UnaryOperator.identity();
  }

  @Test
  void aMethodWovenBeforeItsClassIsLoadedReturnsWhatTheBridgeSays() throws Exception {
    weaver().weave(List.of(hookOf("sparkext.hook.sample.LoadedLate")));
    assertThat(LoadedLate.features()).isEqualTo("none");

    UsageTrackingBridge.supportedFeatures = features -> features + " and ours";

    assertThat(LoadedLate.features()).isEqualTo("none and ours");
  }

  @Test
  void aMethodOfALoadedClassReturnsWhatTheBridgeSays() throws Exception {
    assertThat(LoadedEarly.features()).isEqualTo("none");

    weaver().weave(List.of(hookOf("sparkext.hook.sample.LoadedEarly")));
    UsageTrackingBridge.supportedFeatures = features -> features + " and ours";

    assertThat(LoadedEarly.features()).isEqualTo("none and ours");
  }

  @Test
  void twoMethodsOfOneClassReturnWhatTheBridgeSays() throws Exception {
    String typeName = "sparkext.hook.sample.LoadedWithTwoHooks";
    weaver()
        .weave(
            List.of(
                hookOf(typeName),
                hookOf("sparkext.hook.sample.LoadedBesides"),
                hookOf(
                    typeName,
                    "properties",
                    ComparedPropertiesHook.RemoveFlagAdvice.class.getName())));

    UsageTrackingBridge.supportedFeatures = features -> features + " and ours";
    UsageTrackingBridge.comparedProperties = properties -> properties + " of ours";

    assertThat(LoadedWithTwoHooks.features()).isEqualTo("none and ours");
    assertThat(LoadedWithTwoHooks.properties()).isEqualTo("none of ours");
    assertThat(LoadedBesides.features()).isEqualTo("none and ours");
  }

  @Test
  void whatTheBridgeThrowsFailsTheMethod() throws Exception {
    weaver().weave(List.of(hookOf("sparkext.hook.sample.LoadedToFail")));
    UsageTrackingBridge.supportedFeatures =
        features -> {
          throw new IllegalStateException("rule failed");
        };

    assertThatThrownBy(sparkext.hook.sample.LoadedToFail::features)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("rule failed");
  }

  @Test
  void aClassThatCannotBeDefinedIsNotLoadedUnwoven() throws Exception {
    String typeName = "sparkext.hook.sample.NeverLoaded";
    ClassFileLocator broken = ClassFileLocator.Simple.of(typeName, withFinalSuperclass(typeName));
    HookWeaver weaver = new HookWeaver(new ClassFileLocator.Compound(broken, CLASS_PATH), LOADER);

    assertThatThrownBy(() -> weaver.weave(List.of(hookOf(typeName))))
        .isInstanceOf(LinkageError.class)
        .hasMessageContaining("final");
    assertThat(ByteBuddyAgent.install().getAllLoadedClasses())
        .noneMatch(type -> type.getName().equals(typeName));
  }

  /** Nothing may inherit from String, whose name is as long as that of the real superclass. */
  private static byte[] withFinalSuperclass(String typeName) throws IOException {
    String file = new String(CLASS_PATH.locate(typeName).resolve(), StandardCharsets.ISO_8859_1);
    return file.replace("java/lang/Object", "java/lang/String")
        .getBytes(StandardCharsets.ISO_8859_1);
  }

  private static HookWeaver weaver() {
    return new HookWeaver(CLASS_PATH, LOADER);
  }

  private static DeltaHook hookOf(String typeName) {
    return hookOf(typeName, "features", SupportedFeaturesHook.AddFeatureAdvice.class.getName());
  }

  private static DeltaHook hookOf(String typeName, String method, String advice) {
    return new DeltaHook() {
      @Override
      public String typeName() {
        return typeName;
      }

      @Override
      public String neighbourName() {
        return Neighbour.class.getName();
      }

      @Override
      public ElementMatcher.Junction<MethodDescription> method() {
        return named(method);
      }

      @Override
      public String adviceName() {
        return advice;
      }
    };
  }
}
