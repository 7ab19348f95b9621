// SPDX-License-Identifier: Apache-2.0
package sparkext.jobs;

import org.apache.spark.SparkContext;
import org.apache.spark.util.CallSite;
import org.apache.spark.util.Utils;
import scala.Function1;
import scala.runtime.AbstractFunction1;

/**
 * Names and describes, for Spark's pages, the jobs that are started below our code.
 *
 * <p>Spark names a job for the last method of Spark and the first class outside of it, by the
 * thread's stack. Delta's classes count as Spark's; ours would count as the user's.
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

  /** What starts jobs. */
  public interface Jobs<T, E extends Exception> {
    T run() throws E;
  }

  /**
   * Names jobs for the statement of the user, as if no class of ours stood in the stack. A name
   * that the user gave, or a caller of this, is kept.
   */
  public static <T, E extends Exception> T ofStatement(SparkContext context, Jobs<T, E> jobs)
      throws E {
    if (context.getLocalProperty(SHORT_FORM) != null) {
      return jobs.run();
    }
    CallSite statement = Utils.getCallSite(new OfSparkOrOurs());
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
   * Describes jobs.
   *
   * @param doing what they do to the table, or with it
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

  /** The classes that a job is not named for. */
  private static final class OfSparkOrOurs extends AbstractFunction1<String, Object> {
    private final Function1<String, Object> ofSpark = Utils.getCallSite$default$1();

    @Override
    public Object apply(String className) {
      return className.startsWith(OURS) || (boolean) ofSpark.apply(className);
    }
  }
}
