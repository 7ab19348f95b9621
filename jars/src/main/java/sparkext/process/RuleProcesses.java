// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/**
 * The one rule process of the JVM, started at the first call and replaced after a failure.
 *
 * <p>Calls run one after the other, so that a failure does not end the process during another call.
 * A call takes about a millisecond.
 */
public final class RuleProcesses {
  private static final Logger LOG = LoggerFactory.getLogger(RuleProcesses.class);

  /** The instance of the JVM. */
  private static final RuleProcesses SHARED = new RuleProcesses();

  private static final AtomicBoolean IS_STARTED = new AtomicBoolean();

  private final ReentrantLock turn = new ReentrantLock(/* fair= */ true);

  /** The process of the last answer. Guarded by {@link #turn}. */
  private RuleProcess process;

  /** The number of answers. Changed only with {@link #turn}; waiting calls also read it. */
  private volatile long answers;

  /** The last process that was stopped, and the reason. Guarded by {@link #turn}. */
  private String retired;

  /**
   * Starts the process in the background, once in the JVM, because the first change of a table
   * waits for the start. If the start fails, that change starts the process again and gets the
   * error.
   */
  public static void startEarly() {
    if (SHARED.answers == 0 && !IS_STARTED.getAndSet(true)) {
      Thread start = new Thread(RuleProcesses::start, "sparkext-rules-start");
      start.setDaemon(true);
      start.start();
    }
  }

  private static void start() {
    try {
      ask("start", "{}");
    } catch (Exception unavailable) { // also an interrupt
      LOG.info("The rule process was not started early", unavailable);
    }
  }

  /**
   * Returns the answer to a question of {@code spark_ext/process/questions.py}.
   *
   * <p>An interrupt of the calling thread throws {@link InterruptedException}, although Delta's
   * methods do not declare it. Spark recognizes a stopped streaming query by this exception.
   *
   * @throws UsageTrackingException USAGE_TRACKING_RULES_UNAVAILABLE, USAGE_TRACKING_INVALID_SETTING
   */
  public static String ask(String question, String request) throws UsageTrackingException {
    long timeoutMillis = ProcessSettings.timeoutMillis();
    String python = ProcessSettings.python();
    try {
      List<String> command = RuleProcess.command(python);
      return SHARED.call(command, rules -> rules.ask(question, request), timeoutMillis);
    } catch (InterruptedException interrupted) {
      throw UsageTrackingException.sneakyThrow(interrupted);
    } catch (IOException noJar) {
      throw UsageTrackingErrors.rulesUnavailable(reason(noJar), List.of(python), "none", "", noJar);
    }
  }

  /**
   * Returns the answer to a question. A call waits as long as earlier calls get answers.
   *
   * @param timeoutMillis the limit for the answer, and for the time between answers to others
   * @throws UsageTrackingException USAGE_TRACKING_RULES_UNAVAILABLE
   */
  String call(List<String> command, Function<RuleService, Object> question, long timeoutMillis)
      throws UsageTrackingException, InterruptedException {
    boolean hasTurn = false;
    RuleProcess asked = null;
    try {
      long known;
      do {
        known = answers;
        hasTurn = turn.tryLock(timeoutMillis, TimeUnit.MILLISECONDS);
      } while (!hasTurn && answers != known);
      if (!hasTurn) {
        throw new TimeoutException("an earlier call took the whole time");
      }
      asked = running(command);
      // Without an answer, the next call starts another process.
      process = null;
      String answer = asked.call(question, TimeUnit.MILLISECONDS.toNanos(timeoutMillis));
      process = asked;
      answers++;
      return answer;
    } catch (TimeoutException late) {
      throw unavailable("it gave no answer in " + timeoutMillis + " ms", asked, command, late);
    } catch (ExecutionException failed) {
      throw unavailable(reason(failed.getCause()), asked, command, failed.getCause());
    } catch (IOException | RuntimeException notAsked) {
      throw unavailable(reason(notAsked), asked, command, notAsked);
    } catch (InterruptedException interrupted) {
      if (asked != null) {
        retire(asked, "its call was interrupted");
      }
      throw interrupted;
    } finally {
      if (hasTurn) {
        turn.unlock();
      }
    }
  }

  private RuleProcess running(List<String> command) throws IOException, InterruptedException {
    if (process != null && process.serves(command)) {
      return process;
    }
    if (process != null) {
      RuleProcess other = process;
      // If the start below fails, the next call must not use a process that is still ending.
      process = null;
      retire(
          other,
          other.isAlive()
              ? "the application has set another interpreter"
              : "it had ended with exit code " + other.exitCode());
    }
    RuleProcess started = new RuleProcess(command);
    if (retired != null) {
      LOG.warn("The rule process {} replaces {}", started, retired);
      retired = null;
    }
    return started;
  }

  private void retire(RuleProcess former, String reason) {
    // A Python error has many lines, and the log gets one.
    retired = former + ": " + reason.replaceAll("\\s+", " ");
    former.stop();
  }

  private static String reason(Throwable error) {
    return error.getMessage() == null ? error.toString() : error.getMessage();
  }

  private UsageTrackingException unavailable(
      String reason, RuleProcess asked, List<String> command, Throwable cause)
      throws InterruptedException {
    if (asked == null) {
      return UsageTrackingErrors.rulesUnavailable(reason, command, "none", "", cause);
    }
    try {
      String exitCode = asked.exitCode();
      return UsageTrackingErrors.rulesUnavailable(reason, command, exitCode, asked.stderr(), cause);
    } finally {
      retire(asked, reason);
    }
  }
}
