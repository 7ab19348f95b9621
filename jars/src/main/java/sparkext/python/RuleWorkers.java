// SPDX-License-Identifier: Apache-2.0
package sparkext.python;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;

/**
 * The JVM's one rule process: started at the first call, replaced after any failure.
 *
 * <p>Calls run one after the other, so that a failure ends no process that another call asked. A
 * call takes about a millisecond.
 */
public final class RuleWorkers {
  private static final Logger LOG = LoggerFactory.getLogger(RuleWorkers.class);

  /** The JVM's one. */
  private static final RuleWorkers SHARED = new RuleWorkers();

  private final ReentrantLock turn = new ReentrantLock(/* fair= */ true);

  /** The process that gave the last answer. Guarded by {@link #turn}. */
  private RuleWorker worker;

  /** Which process is no longer asked, and why, until another is started. Likewise guarded. */
  private String retired;

  /**
   * The Python rules' answer to one of the questions of {@code spark_ext/worker/questions.py}.
   *
   * <p>An interrupt of the calling thread, as when a streaming query is stopped, leaves as the
   * {@link InterruptedException} that it is, although Delta's methods declare none: only of that
   * does Spark know that the query has not failed.
   *
   * @throws UsageTrackingException USAGE_TRACKING_RULES_UNAVAILABLE, USAGE_TRACKING_INVALID_SETTING
   */
  public static String ask(String question, String request) throws UsageTrackingException {
    long timeoutMillis = WorkerSettings.timeoutMillis();
    String python = WorkerSettings.python();
    try {
      List<String> command = RuleWorker.command(python);
      return SHARED.call(command, rules -> rules.ask(question, request), timeoutMillis);
    } catch (InterruptedException interrupted) {
      throw UsageTrackingException.sneak(interrupted);
    } catch (IOException noJar) {
      throw UsageTrackingErrors.rulesUnavailable(reason(noJar), List.of(python), "none", "", noJar);
    }
  }

  /**
   * The answer of the Python rules to {@code question}.
   *
   * @throws UsageTrackingException USAGE_TRACKING_RULES_UNAVAILABLE
   */
  String call(List<String> command, Function<Service, Object> question, long timeoutMillis)
      throws UsageTrackingException, InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    boolean ours = false;
    RuleWorker asked = null;
    try {
      ours = turn.tryLock(timeoutMillis, TimeUnit.MILLISECONDS);
      if (!ours) {
        throw new TimeoutException("other calls were before this one");
      }
      asked = running(command);
      // Until it has answered: whatever fails from here on, the next call starts a fresh one.
      worker = null;
      String answer = asked.call(question, deadline - System.nanoTime());
      worker = asked;
      return answer;
    } catch (TimeoutException late) {
      throw unavailable("it gave no answer in " + timeoutMillis + " ms", asked, command, late);
    } catch (ExecutionException failed) {
      throw unavailable(reason(failed.getCause()), asked, command, failed.getCause());
    } catch (IOException | RuntimeException notAsked) {
      // A process that ends at this moment takes no call: RejectedExecutionException.
      throw unavailable(reason(notAsked), asked, command, notAsked);
    } catch (InterruptedException interrupted) {
      if (asked != null) {
        retire(asked, "its call was interrupted");
      }
      throw interrupted;
    } finally {
      if (ours) {
        turn.unlock();
      }
    }
  }

  private RuleWorker running(List<String> command) throws IOException, InterruptedException {
    if (worker != null && worker.serves(command)) {
      return worker;
    }
    if (worker != null) {
      RuleWorker other = worker;
      // Whatever fails from here on: one that was stopped is asked no more, although its process
      // may be there for a moment yet.
      worker = null;
      retire(
          other,
          other.isAlive()
              ? "the application has another interpreter by now"
              : "it had ended with exit code " + other.exitCode());
    }
    RuleWorker started = new RuleWorker(command);
    if (retired != null) {
      LOG.warn("The rule process {} replaces {}", started, retired);
      retired = null;
    }
    return started;
  }

  private void retire(RuleWorker former, String reason) {
    // One line of the log, where a Python error has many.
    retired = former + ": " + reason.replaceAll("\\s+", " ");
    former.stop();
  }

  private static String reason(Throwable error) {
    return error.getMessage() == null ? error.toString() : error.getMessage();
  }

  private UsageTrackingException unavailable(
      String reason, RuleWorker asked, List<String> command, Throwable cause)
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
