// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests which errors mean that a statement was cancelled. */
class UsageTrackingErrorsTest {
  @Test
  void errorCausedByAnInterruptIsStop() {
    List<Exception> interrupts =
        List.of(
            new InterruptedException(),
            new InterruptedIOException(),
            new ClosedByInterruptException());
    assertThat(interrupts).allMatch(cause -> UsageTrackingErrors.isStop(new IOException(cause)));
  }

  @Test
  void timeoutOfStorageIsNoStop() {
    // Apache's ConnectTimeoutException extends InterruptedIOException too.
    List<Exception> timeouts =
        List.of(new SocketTimeoutException(), new InterruptedIOException() {});
    assertThat(timeouts).noneMatch(cause -> UsageTrackingErrors.isStop(new IOException(cause)));
  }
}
