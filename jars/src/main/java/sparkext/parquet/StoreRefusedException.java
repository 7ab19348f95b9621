// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;

/** Thrown if a store refuses or fails to copy: the file is then read and written. */
public final class StoreRefusedException extends IOException {
  private static final long serialVersionUID = 1L;

  private final boolean isForAll;

  public StoreRefusedException(String message, Throwable cause, boolean isForAll) {
    super(message, cause);
    this.isForAll = isForAll;
  }

  /** Returns whether the store will refuse every other file as well. */
  boolean isForAll() {
    return isForAll;
  }
}
