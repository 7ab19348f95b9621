// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * One woven method of Delta. A hook class holds, in this order: which type, which method, the
 * advice.
 *
 * <p>Types are named, never loaded: a class that is loaded before it is woven cannot be defined
 * anew.
 */
interface DeltaHook {
  /** The binary name of the type that declares the method. */
  String typeName();

  /**
   * The binary name of a class in the same package whose loading does not load that type: it lends
   * the right to define classes there.
   */
  String neighbourName();

  /** Matches exactly one declared method: name, argument and return types by name. */
  ElementMatcher.Junction<MethodDescription> method();

  /** The binary name of the nested advice class. */
  String adviceName();
}
