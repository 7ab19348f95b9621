// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import net.bytebuddy.pool.TypePool;

/**
 * A hook: a method of Delta, the advice that is woven into the method, and the callback of the
 * advice. {@link DeltaHooks} has the list of all hooks.
 *
 * @param fields the names of the fields whose values the callback gets
 * @param isNeededIn returns for the types of a release of Delta whether the release needs the hook
 */
record DeltaHook(
    HookedMethod method,
    Class<?> advice,
    List<String> fields,
    Predicate<TypePool> isNeededIn,
    Function<HookCall, Object> callback) {

  private DeltaHook(HookedMethod method, Class<?> advice, Function<HookCall, Object> callback) {
    this(method, advice, List.of(), types -> true, callback);
  }

  /** Calls back before the method runs. */
  static DeltaHook before(HookedMethod method, Consumer<HookCall> callback) {
    return new DeltaHook(method, HookAdvice.Before.class, withoutAnswer(callback));
  }

  /** Calls back after the method returned. */
  static DeltaHook after(HookedMethod method, Consumer<HookCall> callback) {
    return new DeltaHook(method, HookAdvice.After.class, withoutAnswer(callback));
  }

  /** Calls back after the method returned or threw. */
  static DeltaHook atEnd(HookedMethod method, Consumer<HookCall> callback) {
    return new DeltaHook(method, HookAdvice.AtEnd.class, withoutAnswer(callback));
  }

  /** Calls back before the method runs, and runs the answer after the method returned or threw. */
  static DeltaHook around(HookedMethod method, Function<HookCall, Runnable> callback) {
    return new DeltaHook(method, HookAdvice.Around.class, callback::apply);
  }

  /** Replaces the result. Null keeps the result. */
  static DeltaHook replacingResult(HookedMethod method, Function<HookCall, Object> callback) {
    return new DeltaHook(method, HookAdvice.After.class, callback);
  }

  /** Replaces the arguments. Null keeps the arguments. */
  static DeltaHook replacingArguments(HookedMethod method, Function<HookCall, Object[]> callback) {
    return new DeltaHook(method, HookAdvice.Arguments.class, callback::apply);
  }

  /** Returns the answer in place of the method. If the answer is null, the method runs. */
  static DeltaHook replacingBody(HookedMethod method, Function<HookCall, Object> callback) {
    return new DeltaHook(method, HookAdvice.Instead.class, callback);
  }

  /** Gives the callback the values of these fields of the object that the method is called on. */
  DeltaHook withFields(String... names) {
    return new DeltaHook(method, advice, List.of(names), isNeededIn, callback);
  }

  /** Weaves this hook into some releases of Delta only. */
  DeltaHook onlyIn(Predicate<TypePool> releases) {
    return new DeltaHook(method, advice, fields, releases, callback);
  }

  /**
   * Names this hook in {@code UsageTrackingBridge.callbacks}. A method may have several advices.
   */
  String key() {
    return method.typeName() + "." + method.name() + ":" + advice.getSimpleName();
  }

  /**
   * Returns true for Delta 4.0, whose features do not list the properties that are removed with
   * them.
   */
  static boolean isDelta40(TypePool types) {
    return !has(
        types, HookedMethod.DELTA + "RemovableFeature", "tablePropertiesToRemoveAtDowngradeCommit");
  }

  static boolean has(TypePool types, String typeName, String method) {
    return !HookedMethod.methods(types, typeName).filter(named(method)).isEmpty();
  }

  @Override
  public String toString() {
    return key();
  }

  private static Function<HookCall, Object> withoutAnswer(Consumer<HookCall> callback) {
    return call -> {
      callback.accept(call);
      return null;
    };
  }

  /**
   * A call of a woven method, as {@code UsageTrackingBridge.call} passes it on.
   *
   * @param self the object that the method is called on
   * @param fields the values of the fields that the hook reads
   * @param arguments the arguments of the method
   * @param result the result of the method for {@link HookAdvice.After}; null for other advice
   * @param failure the exception of the method; null if it threw none
   */
  record HookCall(
      Object self, Object[] fields, Object[] arguments, Object result, Throwable failure) {
    static HookCall of(Object[] call) {
      return new HookCall(
          call[0], (Object[]) call[1], (Object[]) call[2], call[3], (Throwable) call[4]);
    }

    Object argument(int index) {
      return arguments[index];
    }

    /** Returns the object that the method is called on, followed by the values of its fields. */
    Object[] selfAndFields() {
      return Stream.concat(Stream.of(self), Arrays.stream(fields)).toArray();
    }
  }
}
