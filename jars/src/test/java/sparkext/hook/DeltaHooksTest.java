// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import sparkext.release.Hiding;

/** Tests the hooks with the class files of the pinned Delta release. */
class DeltaHooksTest {
  private static final ClassFileLocator CLASS_PATH =
      ClassFileLocator.ForClassLoader.of(DeltaHooksTest.class.getClassLoader());

  static List<DeltaHook> hooks() {
    return weaver(CLASS_PATH).needed(DeltaHooks.ALL);
  }

  static List<DeltaHook> hooksWithFields() {
    return hooks().stream().filter(hook -> !hook.fields().isEmpty()).toList();
  }

  @Test
  void everyHookHasADifferentKey() {
    assertThat(DeltaHooks.ALL).extracting(DeltaHook::key).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void mismatchNamesTheMethodWhenTheMethodIsRemoved(DeltaHook hook) {
    ClassFileLocator changed =
        Hiding.method(CLASS_PATH, hook.method().typeName(), hook.method().name());

    assertThat(weaver(changed).mismatches(List.of(hook)))
        .containsExactly("the method `" + hook.method() + "` does not exist");
  }

  @ParameterizedTest
  @MethodSource("hooks")
  void mismatchNamesTheMethodWhenTheTypeIsRemoved(DeltaHook hook) {
    assertThat(weaver(ClassFileLocator.NoOp.INSTANCE).mismatches(List.of(hook)))
        .containsExactly("the method `" + hook.method() + "` does not exist");
  }

  @ParameterizedTest
  @MethodSource("hooksWithFields")
  void mismatchNamesTheFieldThatDeltaLacks(DeltaHook hook) {
    assertThat(weaver(CLASS_PATH).mismatches(List.of(hook.withFields("removed"))))
        .containsExactly(
            "the field `removed` of `" + hook.method().typeName() + "` does not exist");
  }

  private static HookWeaver weaver(ClassFileLocator classFiles) {
    return new HookWeaver(classFiles, DeltaHooksTest.class.getClassLoader());
  }
}
