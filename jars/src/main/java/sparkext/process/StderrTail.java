// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;

/** Reads a process's standard error, so that the process never blocks, and keeps its end. */
final class StderrTail {
  private final StringBuilder tail = new StringBuilder();
  private final int characters;
  private final Thread drain;

  StderrTail(InputStream stream, int characters) {
    this.characters = characters;
    this.drain = new Thread(() -> drain(stream), "sparkext-rules-stderr");
    drain.setDaemon(true);
    drain.start();
  }

  /** Waits up to 200 ms for the end of the stream, then returns the last characters so far. */
  String text() throws InterruptedException {
    drain.join(200);
    synchronized (tail) {
      return tail.toString().strip();
    }
  }

  private void drain(InputStream stream) {
    char[] buffer = new char[1024];
    try (Reader reader = new InputStreamReader(stream, StandardCharsets.UTF_8)) {
      for (int read = reader.read(buffer); read >= 0; read = reader.read(buffer)) {
        synchronized (tail) {
          tail.append(buffer, 0, read);
          tail.delete(0, Math.max(0, tail.length() - characters));
        }
      }
    } catch (IOException closed) {
      // The process was stopped. Its earlier output is kept.
      return;
    }
  }
}
