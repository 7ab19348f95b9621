// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Serializable;

/**
 * What became of a data file.
 *
 * @param number that of its order
 * @param target the URI of the copy; null without one
 * @param size the copy's
 * @param reason why it has to be rewritten, or cannot be read; null otherwise
 */
public record FileResult(int number, Outcome outcome, String target, long size, String reason)
    implements Serializable {
  /** What can become of it. */
  public enum Outcome {
    /** It stays as it is. */
    KEPT,
    /** Its bytes were copied under other names, or would be. */
    COPIED,
    /** It has to be read and written row by row. */
    TO_REWRITE,
    /** Nobody can read it. */
    UNREADABLE
  }

  /** A file that nothing is done with here. */
  public static FileResult toRewrite(int number, String reason) {
    return new FileResult(number, Outcome.TO_REWRITE, null, 0, reason);
  }
}
