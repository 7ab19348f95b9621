// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

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
  /**
   * The neighbour of the woven types in Delta's main package; the loader that has it is Delta's.
   */
  String NEIGHBOUR = "org.apache.spark.sql.delta.DroppedColumn";

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

  /** The method of that name by which a command of Delta's runs. */
  static ElementMatcher.Junction<MethodDescription> ofCommand(String name) {
    return named(name)
        .and(takesArguments(1))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(returns(named("scala.collection.immutable.Seq")));
  }
}
