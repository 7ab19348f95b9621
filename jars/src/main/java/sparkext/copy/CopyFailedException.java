// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.IOException;
import sparkext.error.UsageTrackingErrors;

/**
 * A file that a task could not copy, or look at if it has no target. It has nothing of its cause
 * but text and the place in the code: a driver may not have the classes of a storage, or not be
 * able to read them.
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

  /** What ended a job, with a condition where it was such a file. */
  static Throwable described(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof CopyFailedException copy) {
        return copy.target == null
            ? UsageTrackingErrors.unreadableDataFile(copy.source, copy.getMessage())
            : UsageTrackingErrors.copyFailed(copy.source, copy.target, copy.getMessage(), failure);
      }
    }
    return failure;
  }
}
