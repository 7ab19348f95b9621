// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import java.util.Arrays;
import java.util.stream.Stream;

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
