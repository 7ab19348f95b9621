// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.delta;

import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.sources.InsertableRelation;

/**
 * The only class of ours that woven Delta code names.
 *
 * <p>Delta may be in a parent class loader that cannot see our jar ({@code $SPARK_HOME/jars} beside
 * {@code --jars}). So this class is defined in Delta's own loader, and its signatures have JDK
 * types only.
 */
public final class UsageTrackingBridge {
  /** The callbacks by the keys of their hooks. Empty until every hook is woven. */
  public static volatile Map<String, Function<Object[], Object>> callbacks = Map.of();

  private UsageTrackingBridge() {}

  /**
   * Calls the callback of a hook.
   *
   * @param self the object that the woven method is called on
   * @param fields the values of the fields that the hook reads
   * @param arguments the arguments of the woven method
   * @param result the result of the method, or null
   * @param failure the exception of the method, or null
   * @return the new arguments, body or result for the advice; null for no change
   */
  public static Object call(
      String key,
      Object self,
      Object[] fields,
      Object[] arguments,
      Object result,
      Throwable failure) {
    Function<Object[], Object> callback = callbacks.get(key);
    return callback == null
        ? null
        : callback.apply(new Object[] {self, fields, arguments, result, failure});
  }

  /**
   * Returns a relation whose INSERT runs between two steps. Spark takes frames of this package for
   * its own, and names no job after them.
   *
   * @param relation an {@code InsertableRelation}
   */
  public static Object around(Runnable begin, Object relation, Runnable end) {
    InsertableRelation delta = (InsertableRelation) relation;
    InsertableRelation around =
        (rows, overwrite) -> {
          begin.run();
          try {
            delta.insert(rows, overwrite);
          } finally {
            end.run();
          }
        };
    return around;
  }
}
