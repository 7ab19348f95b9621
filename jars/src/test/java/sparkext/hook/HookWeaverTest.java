// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.function.UnaryOperator;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import sparkext.hook.sample.LoadedEarly;
import sparkext.hook.sample.LoadedLate;
import sparkext.hook.sample.Neighbour;

/** What a woven method does; the advice is the real one, the woven classes are samples. */
class HookWeaverTest {

  @AfterEach
  void restoreBridge() {
    UsageTrackingBridge.supportedFeatures = UnaryOperator.identity();
  }

  @Test
  void aMethodWovenBeforeItsClassIsLoadedReturnsWhatTheBridgeSays() throws Exception {
    weaver().weave(hookOf("sparkext.hook.sample.LoadedLate"));
    assertThat(LoadedLate.features()).isEqualTo("none");

    UsageTrackingBridge.supportedFeatures = features -> features + " and ours";

    assertThat(LoadedLate.features()).isEqualTo("none and ours");
  }

  @Test
  void aMethodOfALoadedClassReturnsWhatTheBridgeSays() throws Exception {
    assertThat(LoadedEarly.features()).isEqualTo("none");

    weaver().weave(hookOf("sparkext.hook.sample.LoadedEarly"));
    UsageTrackingBridge.supportedFeatures = features -> features + " and ours";

    assertThat(LoadedEarly.features()).isEqualTo("none and ours");
  }

  @Test
  void whatTheBridgeThrowsFailsTheMethod() throws Exception {
    weaver().weave(hookOf("sparkext.hook.sample.LoadedToFail"));
    UsageTrackingBridge.supportedFeatures =
        features -> {
          throw new IllegalStateException("rule failed");
        };

    assertThatThrownBy(sparkext.hook.sample.LoadedToFail::features)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("rule failed");
  }

  private static HookWeaver weaver() {
    ClassLoader loader = HookWeaverTest.class.getClassLoader();
    return new HookWeaver(ClassFileLocator.ForClassLoader.of(loader), loader);
  }

  private static DeltaHook hookOf(String typeName) {
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
        return named("features");
      }

      @Override
      public String adviceName() {
        return SupportedFeaturesHook.AddFeatureAdvice.class.getName();
      }
    };
  }
}
