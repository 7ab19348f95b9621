// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import javax.net.SocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.ClientServer;

/**
 * A process {@code python -E spark-ext.jar} and the connection to it.
 *
 * <p>The process imports the modules of this jar, independent of the working directory and
 * PYTHONPATH. It listens on {@code 127.0.0.1} only and reads its authentication token from its
 * standard input. It ends when that input closes, as at the end of the JVM. The JVM opens no port.
 */
final class RuleProcess {
  private static final Logger LOG = LoggerFactory.getLogger(RuleProcess.class);
  private static final int STDERR_CHARACTERS = 2000;

  /** The address of {@code __main__.py}. The JVM's own loopback address may be ::1. */
  private static final byte[] LOOPBACK = {127, 0, 0, 1};

  private final List<String> command;
  private final Process process;
  private final StderrTail stderr;
  private final ExecutorService thread;
  private final NoDelaySocketFactory sockets = new NoDelaySocketFactory();
  private volatile ClientServer client;
  private RuleService rules;

  /** Starts the process. */
  RuleProcess(List<String> command) throws IOException {
    this.command = command;
    this.process = new ProcessBuilder(command).start();
    this.stderr = new StderrTail(process.getErrorStream(), STDERR_CHARACTERS);
    this.thread = Executors.newSingleThreadExecutor(RuleProcess::callThread);
    LOG.info("Started the rule process {}", this);
    process.onExit().thenAccept(this::logEnd);
  }

  private void logEnd(Process ended) {
    LOG.info("The rule process {} has ended with exit code {}", this, ended.exitValue());
  }

  /** Creates the thread of one process, so that a hanging read blocks no other process. */
  private static Thread callThread(Runnable task) {
    Thread daemon = new Thread(task, "sparkext-rules");
    daemon.setDaemon(true);
    // py4j loads the interface of the Python object by this class loader.
    daemon.setContextClassLoader(RuleProcess.class.getClassLoader());
    return daemon;
  }

  /** Returns the command line for an interpreter. */
  static List<String> command(String python) throws IOException {
    return List.of(python, "-E", jar().toString());
  }

  /** Writes the token, reads the port and connects. */
  private void connect() throws IOException {
    String token = HexFormat.of().formatHex(randomBytes());
    try {
      process.getOutputStream().write((token + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
    } catch (IOException closed) {
      throw new IOException("the rule process did not read the token", closed);
    }
    BufferedReader stdout =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String port = stdout.readLine();
    if (port == null) {
      throw new IOException("the rule process printed no port");
    }
    if (!port.matches("\\d{1,5}")) {
      String start = port.substring(0, Math.min(port.length(), 100));
      throw new IOException("the rule process printed `" + start + "` and not a port");
    }
    client =
        new ClientServer.ClientServerBuilder()
            .autoStartJavaServer(false)
            // Otherwise py4j's finalizers may call a process that has ended.
            .enableMemoryManagement(false)
            .pythonAddress(InetAddress.getByAddress(LOOPBACK))
            .pythonPort(Integer.parseInt(port))
            .authToken(token)
            .socketFactory(sockets)
            .build();
    rules = (RuleService) client.getPythonServerEntryPoint(new Class<?>[] {RuleService.class});
  }

  /** Returns the text of an answer, and connects first if there is no connection. */
  String call(Function<RuleService, Object> question, long timeoutNanos)
      throws ExecutionException, InterruptedException, TimeoutException {
    Callable<String> call =
        () -> {
          if (rules == null) {
            connect();
          }
          return String.valueOf(question.apply(rules));
        };
    return thread.submit(call).get(timeoutNanos, TimeUnit.NANOSECONDS);
  }

  boolean serves(List<String> wanted) {
    return isAlive() && command.equals(wanted);
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Ends the process at once in every state. */
  void stop() {
    thread.shutdownNow();
    // The interpreter may be a script with child processes.
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    sockets.closeSockets();
    if (client != null) {
      client.shutdown();
    }
  }

  /**
   * Returns the exit code, or "none" if the process is running. Waits up to a second, because a
   * process may have just closed its connection.
   */
  String exitCode() throws InterruptedException {
    boolean ended = process.waitFor(1, TimeUnit.SECONDS);
    return ended ? String.valueOf(process.exitValue()) : "none";
  }

  /** Returns the last characters that the process wrote to its standard error. */
  String stderr() throws InterruptedException {
    return stderr.text();
  }

  /** Returns the process and its command line for the log. */
  @Override
  public String toString() {
    return process.pid() + " (" + String.join(" ", command) + ")";
  }

  private static byte[] randomBytes() {
    byte[] bytes = new byte[32];
    new SecureRandom().nextBytes(bytes);
    return bytes;
  }

  private static Path jar() throws IOException {
    try {
      return Path.of(RuleProcess.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException | IllegalArgumentException | FileSystemNotFoundException notAFile) {
      throw new IOException("the spark-ext jar is not a file of this machine", notAFile);
    }
  }

  /** Reads a process's standard error, so that the process never blocks, and keeps its end. */
  static final class StderrTail {
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

  /**
   * Creates sockets without Nagle's algorithm. py4j sends a call in small writes, and each of them
   * would wait 40 ms for a delayed acknowledgement.
   *
   * <p>The factory can close the sockets. py4j waits for an answer under a lock that its own
   * shutdown needs.
   */
  static final class NoDelaySocketFactory extends SocketFactory {
    private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();

    @Override
    public Socket createSocket() throws IOException {
      Socket socket = new Socket();
      socket.setTcpNoDelay(true);
      sockets.add(socket);
      return socket;
    }

    /** Closes every socket, which ends all calls that wait. */
    void closeSockets() {
      for (Socket socket : sockets) {
        try {
          socket.close();
        } catch (IOException closedAlready) {
          continue;
        }
      }
    }

    @Override
    public Socket createSocket(InetAddress address, int port) throws IOException {
      Socket socket = createSocket();
      socket.connect(new InetSocketAddress(address, port));
      return socket;
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
      return createSocket(InetAddress.getByName(host), port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort)
        throws IOException {
      return createSocket(InetAddress.getByName(host), port, local, localPort);
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress local, int localPort)
        throws IOException {
      Socket socket = createSocket();
      socket.bind(new InetSocketAddress(local, localPort));
      socket.connect(new InetSocketAddress(address, port));
      return socket;
    }
  }
}
