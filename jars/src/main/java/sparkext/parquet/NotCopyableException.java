// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;

/** Thrown if the column chunks of a file cannot be copied unchanged: Delta rewrites its rows. */
public final class NotCopyableException extends IOException {
  private static final long serialVersionUID = 1L;

  NotCopyableException(String reason) {
    super(reason);
  }

  /**
   * @param cause keeps Thrift's message, which may be as long as a footer and contain its values
   */
  NotCopyableException(String reason, Exception cause) {
    super(reason, cause);
  }
}
