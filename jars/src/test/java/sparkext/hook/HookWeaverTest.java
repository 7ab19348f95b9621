// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import sparkext.hook.DeltaHook.HookCall;
import sparkext.hook.sample.LoadedBesides;
import sparkext.hook.sample.LoadedEarly;
import sparkext.hook.sample.LoadedWithEveryAdvice;
import sparkext.hook.sample.LoadedWithTwoHooks;
import sparkext.hook.sample.Neighbour;

/** Tests woven methods of sample classes with the advice of the product. */
class HookWeaverTest {
  private static final ClassLoader LOADER = HookWeaverTest.class.getClassLoader();
  private static final ClassFileLocator CLASS_PATH = ClassFileLocator.ForClassLoader.of(LOADER);
  private static final String SAMPLE = LoadedWithEveryAdvice.class.getPackageName() + ".";
  private static final String OBJECT = "java.lang.Object";

  @BeforeAll
  static void weaveEveryAdvice() throws Exception {
    weaver()
        .weave(
            List.of(
                DeltaHook.before(everyAdvice("before"), call -> {}),
                DeltaHook.after(everyAdvice("after"), call -> {}),
                DeltaHook.replacingResult(everyAdvice("isEmpty"), call -> null),
                DeltaHook.atEnd(everyAdvice("atEnd"), call -> {}),
                DeltaHook.around(everyAdvice("around"), call -> null),
                DeltaHook.replacingBody(everyAdvice("instead"), call -> null),
                DeltaHook.replacingBody(everyAdvice("insteadOfNothing"), call -> null),
                DeltaHook.replacingArguments(everyAdvice("arguments"), call -> null)
                    .withFields("text", "number"),
                DeltaHook.atEnd(everyAdvice("arguments"), call -> {})));
  }

  @AfterEach
  void removeCallbacks() {
    UsageTrackingBridge.callbacks = Map.of();
  }

  @Test
  void loadedClassReturnsTheAnswerOfTheBridgeAfterWeaving() throws Exception {
    assertThat(LoadedEarly.features()).isEqualTo("none");
    DeltaHook hook = hookOf("LoadedEarly", "features");

    weaver().weave(List.of(hook));
    answer(hook, call -> call.result() + " and ours");

    assertThat(LoadedEarly.features()).isEqualTo("none and ours");
  }

  @Test
  void twoMethodsOfOneClassReturnTheAnswerOfTheBridge() throws Exception {
    DeltaHook features = hookOf("LoadedWithTwoHooks", "features");
    DeltaHook properties = hookOf("LoadedWithTwoHooks", "properties");
    DeltaHook besides = hookOf("LoadedBesides", "features");
    weaver().weave(List.of(features, besides, properties));

    UsageTrackingBridge.callbacks =
        Map.of(
            features.key(), call -> HookCall.of(call).result() + " and ours",
            besides.key(), call -> HookCall.of(call).result() + " and ours",
            properties.key(), call -> HookCall.of(call).result() + " of ours");

    assertThat(LoadedWithTwoHooks.features()).isEqualTo("none and ours");
    assertThat(LoadedWithTwoHooks.properties()).isEqualTo("none of ours");
    assertThat(LoadedBesides.features()).isEqualTo("none and ours");
  }

  @Test
  void classThatCannotBeDefinedIsNotLoadedUnwoven() throws Exception {
    String typeName = SAMPLE + "NeverLoaded";
    ClassFileLocator broken = ClassFileLocator.Simple.of(typeName, withFinalSuperclass(typeName));
    HookWeaver weaver = new HookWeaver(new ClassFileLocator.Compound(broken, CLASS_PATH), LOADER);

    assertThatThrownBy(() -> weaver.weave(List.of(hookOf("NeverLoaded", "features"))))
        .isInstanceOf(LinkageError.class)
        .hasMessageContaining("final");
    assertThat(ByteBuddyAgent.install().getAllLoadedClasses())
        .noneMatch(type -> type.getName().equals(typeName));
  }

  @Test
  void everyAdviceChangesNothingWithoutCallbacks() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();

    assertThat(sample.before("a", 1)).isEqualTo("before a 1");
    assertThat(sample.after("a", 1)).isEqualTo("after a 1");
    assertThat(sample.isEmpty("a", 1)).isTrue();
    assertThat(sample.atEnd("a", 1)).isEqualTo("atEnd a 1");
    assertThat(sample.around("a", 1)).isEqualTo("around a 1");
    assertThat(sample.instead("a", 1)).isEqualTo("instead a 1");
    sample.insteadOfNothing("a", 1);
    assertThat(sample.arguments("a", 1)).isEqualTo("arguments a 1");
    assertThat(sample.ran)
        .containsExactly(
            "before", "after", "isEmpty", "atEnd", "around", "instead", "nothing", "arguments");
  }

  @Test
  void callbackBeforeGetsTheObjectAndTheArguments() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    List<HookCall> calls = new ArrayList<>();
    answer(
        "before:Before",
        call -> {
          assertThat(sample.ran).isEmpty();
          calls.add(call);
          return "ignored";
        });

    assertThat(sample.before("a", 1)).isEqualTo("before a 1");

    assertThat(calls).singleElement().extracting(HookCall::self).isSameAs(sample);
    assertThat(calls.get(0).arguments()).containsExactly("a", 1L);
    assertThat(calls.get(0).fields()).isEmpty();
  }

  @Test
  void callbackAfterGetsAndReplacesTheResult() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    answer("after:After", call -> call.result() + ", " + call.argument(1));

    assertThat(sample.after("a", 1)).isEqualTo("after a 1, 1");
  }

  @Test
  void methodFailsWhenTheCallbackThrows() {
    answer(
        "after:After",
        call -> {
          throw new IllegalStateException("rule failed");
        });

    assertThatThrownBy(() -> new LoadedWithEveryAdvice().after("a", 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("rule failed");
  }

  @Test
  void callbackAfterReplacesTrueByFalse() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    answer("isEmpty:After", call -> !(boolean) call.result());

    assertThat(sample.isEmpty("a", 1)).isFalse();
  }

  @Test
  void callbackAtEndGetsTheFailure() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    List<Throwable> failures = new ArrayList<>();
    answer(
        "atEnd:AtEnd",
        call -> {
          failures.add(call.failure());
          return null;
        });

    sample.atEnd("a", 1);
    assertThatThrownBy(() -> sample.atEnd("a", -1)).hasMessage("atEnd failed");

    assertThat(failures).hasSize(2).first().isNull();
    assertThat(failures.get(1)).hasMessage("atEnd failed");
  }

  @Test
  void answerOfAroundRunsAfterTheMethodReturnsOrThrows() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    answer(
        "around:Around",
        call -> {
          sample.ran.add("begin " + call.argument(1));
          return (Runnable) () -> sample.ran.add("end " + call.argument(1));
        });

    sample.around("a", 1);
    assertThatThrownBy(() -> sample.around("a", -1)).hasMessage("around failed");

    assertThat(sample.ran)
        .containsExactly("begin 1", "around", "end 1", "begin -1", "around", "end -1");
  }

  @Test
  void answerReplacesTheBody() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    UsageTrackingBridge.callbacks =
        Map.of(
            SAMPLE + "LoadedWithEveryAdvice.instead:Instead", call -> "ours",
            SAMPLE + "LoadedWithEveryAdvice.insteadOfNothing:Instead", call -> true);

    assertThat(sample.instead("a", 1)).isEqualTo("ours");
    sample.insteadOfNothing("a", 1);

    assertThat(sample.ran).isEmpty();
  }

  @Test
  void answerReplacesTheArguments() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    answer("arguments:Arguments", call -> new Object[] {"b", (long) call.argument(1) + 1});

    assertThat(sample.arguments("a", 1)).isEqualTo("arguments b 2");
  }

  @Test
  void callbackGetsTheValuesOfFields() {
    LoadedWithEveryAdvice sample = new LoadedWithEveryAdvice();
    List<Object> fields = new ArrayList<>();
    answer(
        "arguments:Arguments",
        call -> {
          fields.addAll(List.of(call.fields()));
          return null;
        });

    sample.arguments("a", 1);

    assertThat(fields).containsExactly("text of the sample", 7L);
  }

  private static void answer(DeltaHook hook, Function<HookCall, Object> callback) {
    UsageTrackingBridge.callbacks = Map.of(hook.key(), call -> callback.apply(HookCall.of(call)));
  }

  private static void answer(String key, Function<HookCall, Object> callback) {
    UsageTrackingBridge.callbacks =
        Map.of(SAMPLE + "LoadedWithEveryAdvice." + key, call -> callback.apply(HookCall.of(call)));
  }

  /**
   * Makes a class invalid: it inherits from String, whose name has the length of the right name.
   */
  private static byte[] withFinalSuperclass(String typeName) throws IOException {
    String file = new String(CLASS_PATH.locate(typeName).resolve(), StandardCharsets.ISO_8859_1);
    return file.replace("java/lang/Object", "java/lang/String")
        .getBytes(StandardCharsets.ISO_8859_1);
  }

  private static HookWeaver weaver() {
    return new HookWeaver(CLASS_PATH, LOADER);
  }

  private static DeltaHook hookOf(String type, String name) {
    return DeltaHook.replacingResult(method(type, OBJECT, name, List.of()), call -> null);
  }

  private static HookedMethod everyAdvice(String name) {
    String returnType =
        Map.of("insteadOfNothing", "void", "isEmpty", "boolean").getOrDefault(name, OBJECT);
    return method("LoadedWithEveryAdvice", returnType, name, List.of("java.lang.String", "long"));
  }

  private static HookedMethod method(
      String type, String returnType, String name, List<String> argumentTypes) {
    return new HookedMethod(
        SAMPLE + type, Neighbour.class.getName(), returnType, name, argumentTypes);
  }
}
