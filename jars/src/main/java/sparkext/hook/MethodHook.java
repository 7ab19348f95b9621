// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/** One of several methods of a type, each with its advice. */
abstract class MethodHook implements DeltaHook {
  private final Class<?> advice;
  private final ElementMatcher.Junction<MethodDescription> method;

  MethodHook(Class<?> advice, ElementMatcher.Junction<MethodDescription> method) {
    this.advice = advice;
    this.method = method;
  }

  @Override
  public final ElementMatcher.Junction<MethodDescription> method() {
    return method;
  }

  @Override
  public final String adviceName() {
    return advice.getName();
  }
}
