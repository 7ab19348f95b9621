// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.delta;

import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.UnaryOperator;

/**
 * The only class of ours that woven Delta code names.
 *
 * <p>Delta may sit in a parent class loader that cannot see our jar ({@code $SPARK_HOME/jars}
 * beside {@code --jars}), so this class is defined into Delta's own loader and speaks only JDK
 * types. Until every hook is woven its functions change nothing.
 */
public final class UsageTrackingBridge {
  /** From Delta's map of supported table features to the map that Delta goes on with. */
  public static volatile UnaryOperator<Object> supportedFeatures = UnaryOperator.identity();

  /** From a metadata change's arguments and Delta's result to the metadata that is committed. */
  public static volatile BiFunction<Object[], Object, Object> assignedMetadata =
      (arguments, assigned) -> assigned;

  /** From the properties of a table that Delta compares to those that it goes on with. */
  public static volatile UnaryOperator<Object> comparedProperties = UnaryOperator.identity();

  /** From a command that removes column mapping, and its arguments, to whether it is done. */
  public static volatile BiPredicate<Object, Object[]> removed = (command, arguments) -> false;

  /** Whether the hooks are woven into this loader's Delta. Guarded by this class's monitor. */
  public static boolean woven = false;

  private UsageTrackingBridge() {}
}
