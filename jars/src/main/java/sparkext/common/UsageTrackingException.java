// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The exception that Java throws, with a condition of {@code spark_ext/conditions.json}, Delta or
 * Spark.
 *
 * <p>It is an {@link AnalysisException}, because only this class reaches PySpark with its
 * condition, SQLSTATE and parameters. It stores the SQLSTATE: Spark would look it up in its own
 * list.
 */
public final class UsageTrackingException extends AnalysisException {
  private static final long serialVersionUID = 1L;

  private final String sqlState;

  public UsageTrackingException(
      String condition,
      String sqlState,
      Map<String, String> parameters,
      String message,
      Throwable cause) {
    super(
        "[" + condition + "] " + message + " SQLSTATE: " + sqlState,
        Option.empty(),
        Option.empty(),
        Option.apply(cause),
        Option.apply(condition),
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(parameters)),
        new QueryContext[0]);
    this.sqlState = sqlState;
  }

  /** Returns an error of Delta as an exception that reaches PySpark. */
  public static <T extends Throwable & SparkThrowable> UsageTrackingException of(T error) {
    return of(error, error);
  }

  /**
   * Returns an error of Delta or Spark as an exception that reaches PySpark.
   *
   * @param cause the cause of the new exception: the error itself, or an exception that wraps it
   */
  static <T extends Throwable & SparkThrowable> UsageTrackingException of(
      T error, Throwable cause) {
    return new UsageTrackingException(
        error.getCondition(),
        error.getSqlState(),
        error.getMessageParameters(),
        withoutCondition(error.getMessage(), error.getCondition()),
        cause);
  }

  @Override
  public String getSqlState() {
    return sqlState;
  }

  /**
   * Returns this error without a position in the query. PySpark looks up the text of an error with
   * a position in Spark's list, which lacks Delta's conditions and ours.
   */
  @Override
  public AnalysisException withPosition(Origin origin) {
    return this;
  }

  /** Throws this from code whose signature, given by a JDK type, allows no checked exception. */
  public RuntimeException sneakyThrow() {
    return sneakyThrow(this);
  }

  /** Throws an error of Spark or Delta from code whose signature allows no checked exception. */
  @SuppressWarnings("unchecked")
  public static <T extends Throwable> RuntimeException sneakyThrow(Throwable error) throws T {
    throw (T) error;
  }

  private static String withoutCondition(String message, String condition) {
    String prefix = "[" + condition + "] ";
    return message.startsWith(prefix) ? message.substring(prefix.length()) : message;
  }
}
