// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import org.apache.spark.SparkThrowable;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/**
 * The reason why a table could not be read.
 *
 * @param condition of the error or of its cause; the class of the error if there is none
 * @param message of the error or cause with the condition; the text of the error if there is none
 */
record TableFailure(String condition, String message) {
  /** Some messages contain a plan or a stack trace. */
  private static final int MAX_LENGTH = 1_000;

  /** Returns the reason in an error. Throws the error if the query was cancelled. */
  static TableFailure of(Throwable error) {
    if (UsageTrackingErrors.isStop(error)) {
      throw UsageTrackingException.sneakyThrow(error);
    }
    // Delta's cache of logs wraps an Error in one of its own.
    Throwable found =
        error instanceof Error && error.getCause() instanceof Error cause ? cause : error;
    Throwable described = UsageTrackingErrors.described(found);
    return described instanceof SparkThrowable spark
        ? new TableFailure(spark.getCondition(), shortened(described.getMessage()))
        : new TableFailure(found.getClass().getName(), shortened(found.toString()));
  }

  private static String shortened(String text) {
    String message = String.valueOf(text); // some have none
    return message.length() <= MAX_LENGTH ? message : message.substring(0, MAX_LENGTH) + "..";
  }
}
