// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;

/** A path on a storage that this JVM has no class for, or cannot begin to use. */
final class UnknownStorageException extends IOException {
  private static final long serialVersionUID = 1L;

  UnknownStorageException(Throwable cause) {
    super("its storage is not known: " + cause, cause);
  }
}
