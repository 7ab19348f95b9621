// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import org.apache.spark.SparkContext;
import org.apache.spark.util.CallSite;
import org.apache.spark.util.Utils;
import scala.Function1;

/**
 * Names and describes the Spark jobs that our code starts, for Spark's web UI.
 *
 * <p>Spark names a job by the thread's stack: the last method of Spark, and the first class outside
 * of Spark. Delta's classes count as Spark's, and ours would count as the user's.
 *
 * <p>Source: Spark 4.2, Utils.scala, {@code getCallSite}; SparkContext.scala, {@code getCallSite}
 * and {@code SPARK_JOB_DESCRIPTION}.
 */
public final class JobNames {
  private static final String DESCRIPTION = "spark.job.description";
  private static final String SHORT_FORM = "callSite.short";
  private static final String LONG_FORM = "callSite.long";
  private static final String OURS = "sparkext.";

  private JobNames() {}

  /** Code that starts jobs. */
  public interface Jobs<T, E extends Exception> {
    T run() throws E;
  }

  /**
   * Names jobs for the statement of the user, as if the stack contained no class of ours. A name
   * that the user or a caller has set is kept.
   */
  public static <T, E extends Exception> T ofStatement(SparkContext context, Jobs<T, E> jobs)
      throws E {
    if (context.getLocalProperty(SHORT_FORM) != null) {
      return jobs.run();
    }
    // Excludes Spark's classes and ours.
    Function1<String, Object> ofSpark = Utils.getCallSite$default$1();
    CallSite statement =
        Utils.getCallSite(name -> name.startsWith(OURS) || (boolean) ofSpark.apply(name));
    String before = context.getLocalProperty(LONG_FORM);
    context.setLocalProperty(SHORT_FORM, statement.shortForm());
    context.setLocalProperty(LONG_FORM, statement.longForm());
    try {
      return jobs.run();
    } finally {
      context.setLocalProperty(SHORT_FORM, null);
      context.setLocalProperty(LONG_FORM, before);
    }
  }

  /**
   * Describes jobs on a table.
   *
   * @param doing the purpose of the jobs, which follows the name of the table in the description
   */
  public static <T, E extends Exception> T described(
      SparkContext context, Object table, String doing, Jobs<T, E> jobs) throws E {
    String before = context.getLocalProperty(DESCRIPTION);
    context.setLocalProperty(DESCRIPTION, "Column mapping of " + table + ": " + doing);
    try {
      return jobs.run();
    } finally {
      context.setLocalProperty(DESCRIPTION, before);
    }
  }
}
