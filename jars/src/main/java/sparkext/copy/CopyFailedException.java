// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.IOException;
import sparkext.common.UsageTrackingErrors;

/**
 * Thrown if a task failed to copy a file, or to read the file's footer if there is no target. It
 * has only the text and stack trace of its cause: the driver may lack the class of the cause.
 */
final class CopyFailedException extends IOException {
  private static final long serialVersionUID = 1L;

  private final String source;
  private final String target;

  CopyFailedException(String source, String target, Exception cause) {
    super(cause.toString());
    this.source = source;
    this.target = target;
    setStackTrace(cause.getStackTrace());
  }

  /** Returns an error with a condition if this exception ended a job; else the failure itself. */
  static Throwable described(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof CopyFailedException copy) {
        return copy.target == null
            ? UsageTrackingErrors.unreadableDataFile(copy.source, copy.getMessage(), failure)
            : UsageTrackingErrors.copyFailed(copy.source, copy.target, copy.getMessage(), failure);
      }
    }
    return failure;
  }
}
