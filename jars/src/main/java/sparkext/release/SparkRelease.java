// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import sparkext.common.Releases;
import sparkext.common.UnsupportedSparkException;

/**
 * Refuses a Spark that is too old, or of another Scala.
 *
 * <p>Neither this class nor the classes that it calls name a class of Spark or Scala. With Scala
 * 2.12 the JVM cannot load our other classes, and Spark logs some of these errors as warnings.
 */
public final class SparkRelease {
  private SparkRelease() {}

  /**
   * Returns normally if Spark is 4.0 or later, of Scala 2.13.
   *
   * @throws UnsupportedSparkException USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION
   */
  public static void requireSupported() {
    require(Versions.spark(), Versions.scala());
  }

  static void require(String spark, String scala) {
    int oldest = major(Releases.SPARKS.get(0));
    if (!scala.startsWith(Releases.SCALA + ".") || major(spark) < oldest) {
      throw UnsupportedSparkException.of(spark + " of Scala " + scala, Versions.delta());
    }
  }

  private static int major(String version) {
    String digits = version.split("\\.", 2)[0];
    return digits.matches("\\d{1,4}") ? Integer.parseInt(digits) : 0;
  }
}
