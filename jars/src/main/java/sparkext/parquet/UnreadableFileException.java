// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;

/** Thrown if the bytes of a data file or of a deletion vector are wrong or missing. */
public class UnreadableFileException extends IOException {
  private static final long serialVersionUID = 1L;

  UnreadableFileException(String reason) {
    super(reason);
  }

  /**
   * @param cause keeps Thrift's message, which may be as long as a footer and contain its values
   */
  UnreadableFileException(String reason, Throwable cause) {
    super(reason, cause);
  }

  static UnreadableFileException shorterThan(long size) {
    return new UnreadableFileException("it has fewer than " + size + " bytes");
  }
}
