// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner.Typing;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * The code that Byte Buddy inlines into Delta's methods. The code uses JDK types and the bridge
 * only, because Delta's class loader may not find our other classes.
 *
 * <p>If a callback throws, the method fails. If a callback returns null, the method runs unchanged.
 */
final class HookAdvice {
  private HookAdvice() {}

  /** Marks the parameter that gets {@link DeltaHook#key}. */
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.PARAMETER)
  @interface Key {}

  /** Marks the parameter that gets the values of {@link DeltaHook#fields}. */
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.PARAMETER)
  @interface Fields {}

  /** Calls back before the method runs. */
  static final class Before {
    private Before() {}

    @Advice.OnMethodEnter
    static void onEnter(
        @Key String key,
        @Advice.This(optional = true) Object self,
        @Fields Object[] fields,
        @Advice.AllArguments Object[] arguments) {
      UsageTrackingBridge.call(key, self, fields, arguments, null, null);
    }
  }

  /** Calls back after the method returned. If the answer is not null, it replaces the result. */
  static final class After {
    private After() {}

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Typing.DYNAMIC)
    static Object onExit(
        @Key String key,
        @Advice.This(optional = true) Object self,
        @Fields Object[] fields,
        @Advice.AllArguments Object[] arguments,
        @Advice.Return(typing = Typing.DYNAMIC) Object result) {
      return UsageTrackingBridge.call(key, self, fields, arguments, result, null);
    }
  }

  /** Calls back after the method returned or threw. */
  static final class AtEnd {
    private AtEnd() {}

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void onExit(
        @Key String key,
        @Advice.This(optional = true) Object self,
        @Fields Object[] fields,
        @Advice.AllArguments Object[] arguments,
        @Advice.Thrown Throwable failure) {
      UsageTrackingBridge.call(key, self, fields, arguments, null, failure);
    }
  }

  /**
   * Calls back before the method runs. If the answer, a {@code Runnable}, is not null, it runs
   * after the method returned or threw.
   */
  static final class Around {
    private Around() {}

    @Advice.OnMethodEnter
    static Object onEnter(
        @Key String key,
        @Advice.This(optional = true) Object self,
        @Fields Object[] fields,
        @Advice.AllArguments Object[] arguments) {
      return UsageTrackingBridge.call(key, self, fields, arguments, null, null);
    }

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void onExit(@Advice.Enter Object end) {
      if (end != null) {
        ((Runnable) end).run();
      }
    }
  }

  /**
   * Calls back before the method runs. If the answer is null, the method runs. If the answer is not
   * null, the method does not run, and the answer is the result.
   */
  static final class Instead {
    private Instead() {}

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static Object onEnter(
        @Key String key,
        @Advice.This(optional = true) Object self,
        @Fields Object[] fields,
        @Advice.AllArguments Object[] arguments) {
      return UsageTrackingBridge.call(key, self, fields, arguments, null, null);
    }

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Typing.DYNAMIC)
    static Object onExit(@Advice.Enter Object result) {
      return result;
    }
  }

  /**
   * Calls back before the method runs. If the answer, an array, is not null, it replaces all
   * arguments.
   */
  static final class Arguments {
    private Arguments() {}

    @Advice.OnMethodEnter
    @Advice.AssignReturned.AsScalar
    @Advice.AssignReturned.ToAllArguments(typing = Typing.DYNAMIC)
    static Object[] onEnter(
        @Key String key,
        @Advice.This(optional = true) Object self,
        @Fields Object[] fields,
        @Advice.AllArguments Object[] arguments) {
      return (Object[]) UsageTrackingBridge.call(key, self, fields, arguments, null, null);
    }
  }
}
