// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.IOException;

/** The store does not do what was asked of it; another way may lead there. */
public final class StoreRefusedException extends IOException {
  private static final long serialVersionUID = 1L;

  private final boolean isForAll;

  StoreRefusedException(String message, Throwable cause, boolean isForAll) {
    super(message, cause);
    this.isForAll = isForAll;
  }

  /** A store that cannot be asked: its classes are others than ours were made for. */
  public static StoreRefusedException of(LinkageError unfit) {
    return new StoreRefusedException(unfit.toString(), unfit, /* isForAll= */ true);
  }

  /** Whether it will refuse the same of every other file. */
  public boolean isForAll() {
    return isForAll;
  }
}
