// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.util.functional.CallableRaisingIOE;

/** What the threads of a task do one after the other: each time may take the memory of a task. */
public final class OneByOne {
  private final ReentrantLock turn = new ReentrantLock();

  /**
   * Does it when nobody else does.
   *
   * @throws InterruptedIOException if the thread is to end
   */
  public <T> T run(CallableRaisingIOE<T> work) throws IOException {
    try {
      turn.lockInterruptibly();
    } catch (InterruptedException killed) {
      throw (IOException) new InterruptedIOException().initCause(killed);
    }
    try {
      return work.apply();
    } finally {
      turn.unlock();
    }
  }
}
