// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/** Why a file cannot be copied with other names: it has to be read and written row by row. */
public final class NotCopiedException extends Exception {
  private static final long serialVersionUID = 1L;

  NotCopiedException(String reason) {
    super(reason);
  }

  /** Thrift's own message may be as long as a footer, with values in it: it stays in the cause. */
  NotCopiedException(String reason, Exception cause) {
    super(reason, cause);
  }
}
