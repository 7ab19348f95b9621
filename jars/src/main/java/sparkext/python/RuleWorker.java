// SPDX-License-Identifier: Apache-2.0
package sparkext.python;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import py4j.ClientServer;

/**
 * A process {@code python -m spark_ext.worker} and the connection to it.
 *
 * <p>It listens on the loopback interface only, takes its authentication token from its standard
 * input, and ends when that closes, as it does when the JVM ends. The JVM opens no port.
 */
final class RuleWorker {
  private static final int STDERR_CHARACTERS = 2000;

  /** The interpreter, first found; ours is there for notebooks, where Spark's is not a Python. */
  private static final List<String> PYTHON_CONFS =
      List.of(
          "spark.sparkext.worker.python", "spark.pyspark.driver.python", "spark.pyspark.python");

  private static final List<String> PYTHON_VARIABLES =
      List.of("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON");

  private final List<String> command;
  private final Process process;
  private final StderrTail stderr;
  private final ExecutorService thread;
  private final NoDelaySocketFactory sockets = new NoDelaySocketFactory();
  private volatile ClientServer client;
  private Service rules;

  /** Starts the process. */
  RuleWorker(List<String> command) throws IOException {
    this.command = command;
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().merge("PYTHONPATH", pythonPath(), RuleWorker::before);
    // Nothing in the directory where Spark happens to run may stand in for our modules.
    builder.environment().put("PYTHONSAFEPATH", "1");
    this.process = builder.start();
    this.stderr = new StderrTail(process.getErrorStream(), STDERR_CHARACTERS);
    this.thread = Executors.newSingleThreadExecutor(RuleWorker::callThread);
  }

  /** Its own thread for each process: a read that hangs for ever hangs nobody else's. */
  private static Thread callThread(Runnable task) {
    Thread daemon = new Thread(task, "sparkext-rules");
    daemon.setDaemon(true);
    // py4j looks up the interface of the Python object there.
    daemon.setContextClassLoader(RuleWorker.class.getClassLoader());
    return daemon;
  }

  /** The command line for a session. */
  static List<String> command(SparkSession session) {
    Stream<String> confs =
        PYTHON_CONFS.stream().map(key -> session.conf().getOption(key).getOrElse(() -> null));
    Stream<String> variables =
        PYTHON_VARIABLES.stream().map(System::getenv).filter(RuleWorker::isInterpreter);
    String python =
        Stream.concat(confs, variables)
            .filter(Objects::nonNull)
            .filter(value -> !value.isBlank())
            .findFirst()
            .orElse("python3");
    return List.of(python, "-m", "spark_ext.worker");
  }

  /** PySpark users set these variables to a notebook front end, which runs no modules. */
  private static boolean isInterpreter(String value) {
    String name = value == null ? "" : new File(value).getName();
    return !name.startsWith("jupyter") && !name.startsWith("ipython");
  }

  /** Hands over the token, learns the port, connects. */
  private void connect() throws IOException {
    String token = HexFormat.of().formatHex(randomBytes());
    try {
      process.getOutputStream().write((token + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
    } catch (IOException closed) {
      throw new IOException("the rule process took no token", closed);
    }
    BufferedReader stdout =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String port = stdout.readLine();
    if (port == null) {
      throw new IOException("the rule process named no port");
    }
    if (!port.matches("\\d{1,5}")) {
      String start = port.substring(0, Math.min(port.length(), 100));
      throw new IOException("the rule process named `" + start + "` as its port");
    }
    client =
        new ClientServer.ClientServerBuilder()
            .autoStartJavaServer(false)
            .pythonAddress(InetAddress.getLoopbackAddress())
            .pythonPort(Integer.parseInt(port))
            .authToken(token)
            .socketFactory(sockets)
            .build();
    rules = (Service) client.getPythonServerEntryPoint(new Class<?>[] {Service.class});
  }

  /** The text of what the rules answer, connecting first where that is not done. */
  String call(Function<Service, Object> question, long timeoutNanos)
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
    return process.isAlive() && command.equals(wanted);
  }

  /** Ends the process at once, in whatever state it is. */
  void stop() {
    thread.shutdownNow();
    // The interpreter may be a script: what it started goes as well.
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    sockets.closeSockets();
    if (client != null) {
      client.shutdown();
    }
  }

  /**
   * The exit code of a process that ended, else "none". One that has just closed its connection is
   * given a moment to be gone.
   */
  String exitCode() {
    try {
      boolean ended = process.waitFor(1, TimeUnit.SECONDS);
      return ended ? String.valueOf(process.exitValue()) : "none";
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return "none";
    }
  }

  /** The last characters that the process wrote to its standard error. */
  String stderr() {
    return stderr.text();
  }

  private static byte[] randomBytes() {
    byte[] bytes = new byte[32];
    new SecureRandom().nextBytes(bytes);
    return bytes;
  }

  /** Our jar, which carries spark_ext, and the py4j that this Spark brings. */
  private static String pythonPath() throws IOException {
    String path = jar().toString();
    String sparkHome = System.getenv("SPARK_HOME");
    if (sparkHome == null) {
      return path;
    }
    Path libraries = Path.of(sparkHome, "python", "lib");
    if (!Files.isDirectory(libraries)) {
      return path;
    }
    try (DirectoryStream<Path> py4j = Files.newDirectoryStream(libraries, "py4j-*.zip")) {
      for (Path zip : py4j) {
        path = before(zip.toString(), path);
      }
    }
    return path;
  }

  private static Path jar() throws IOException {
    try {
      return Path.of(RuleWorker.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException | IllegalArgumentException | FileSystemNotFoundException notAFile) {
      throw new IOException("the spark-ext jar is not a file of this machine", notAFile);
    }
  }

  private static String before(String rest, String first) {
    return first + File.pathSeparator + rest;
  }
}
