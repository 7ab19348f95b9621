// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.method.MethodList;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;

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

  /**
   * Whether a Delta does here what the hook is for; a release may do it elsewhere, or not yet.
   *
   * @param types those of Delta and Spark
   * @param classFiles their class files, where it is the code that tells
   */
  default boolean isNeededIn(TypePool types, ClassFileLocator classFiles) {
    return true;
  }

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

  /** Whether features do not say which properties go with them, as they do from 4.1 on. */
  static boolean isOfDelta40(TypePool delta) {
    return !has(
        delta,
        "org.apache.spark.sql.delta.RemovableFeature",
        "tablePropertiesToRemoveAtDowngradeCommit");
  }

  /** Whether a type has a method of this name. */
  static boolean has(TypePool delta, String typeName, String method) {
    return !methods(delta, typeName).filter(named(method)).isEmpty();
  }

  /** The methods of a type; none where a Delta does not have it. */
  static MethodList<?> methods(TypePool delta, String typeName) {
    TypePool.Resolution type = delta.describe(typeName);
    return type.isResolved() ? type.resolve().getDeclaredMethods() : new MethodList.Empty<>();
  }

  /** The method of that name by which a command of Delta's runs. */
  static ElementMatcher.Junction<MethodDescription> ofCommand(String name) {
    return named(name)
        .and(takesArguments(1))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(returns(named("scala.collection.immutable.Seq")));
  }
}
