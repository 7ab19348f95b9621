// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import java.net.URI;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkThrowable;

/**
 * A file that Spark could not read.
 *
 * @param reason the first line of the error of the storage or of the format
 */
public record FailedRead(Path file, String reason) {
  private static final String FAILED = "FAILED_READ_FILE";

  /** Returns the failed read among an error and its causes; null if there is none. */
  public static FailedRead in(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof SparkThrowable known
          && known.getCondition() != null
          && known.getCondition().startsWith(FAILED)) {
        return new FailedRead(
            file(known), firstLine(cause.getCause() == null ? cause : cause.getCause()));
      }
    }
    return null;
  }

  /**
   * Returns USAGE_TRACKING_UNREADABLE_DATA_FILE if Spark could not read a file, and any other
   * failure unchanged. The failed statement must have committed nothing.
   */
  public static Throwable described(Throwable failure) {
    FailedRead read = in(failure);
    return read == null
        ? failure
        : UsageTrackingErrors.unreadableDataFile(read.file.toString(), read.reason, failure);
  }

  /** Returns the first line of an error's message. */
  public static String firstLine(Throwable error) {
    return String.valueOf(error.getMessage()).lines().findFirst().orElse("");
  }

  /**
   * Returns the file.
   *
   * <p>Source: Spark 4.0 to 4.2, QueryExecutionErrors.scala. {@code cannotReadFilesError} gets an
   * encoded path, and {@code cannotReadFooterForFileError} a plain one.
   */
  private static Path file(SparkThrowable failed) {
    String path = failed.getMessageParameters().get("path");
    return failed.getCondition().equals(FAILED + ".CANNOT_READ_FILE_FOOTER")
        ? new Path(path)
        : new Path(URI.create(path));
  }
}
