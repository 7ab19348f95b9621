// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.IOException;

/** Thrown if a store refuses or fails to copy: the file is then read and written. */
public final class StoreRefusedException extends IOException {
  private static final long serialVersionUID = 1L;

  private final boolean isForAll;

  StoreRefusedException(String message, Throwable cause, boolean isForAll) {
    super(message, cause);
    this.isForAll = isForAll;
  }

  /** Returns the exception for a store whose classes differ from those that ours were built for. */
  public static StoreRefusedException of(LinkageError unfit) {
    return new StoreRefusedException(unfit.toString(), unfit, /* isForAll= */ true);
  }

  /** Returns whether the store will refuse every other file as well. */
  public boolean isForAll() {
    return isForAll;
  }
}
