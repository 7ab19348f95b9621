// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.util.functional.CallableRaisingIOE;

/**
 * Lets one thread at a time use large buffers, so that the task's memory suffices. A task has one
 * lock for its own copies of large files, and one for each bucket whose store copies ranges.
 */
public final class BufferLock {
  private final ReentrantLock turn = new ReentrantLock();

  /**
   * Does work when no other thread holds the lock.
   *
   * @throws InterruptedIOException if the thread was interrupted
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
