// SPDX-License-Identifier: Apache-2.0
package sparkext.python;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.SparkSession;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;

/**
 * The JVM's one rule process: started at the first call, replaced after any failure.
 *
 * <p>Calls run one after the other, so that a failure ends no process that another call asked. A
 * call takes about a millisecond.
 */
public final class RuleWorkers {
  static final String TIMEOUT = "spark.sparkext.worker.timeout";

  /** The JVM's one. */
  private static final RuleWorkers SHARED = new RuleWorkers();

  private final ReentrantLock turn = new ReentrantLock(/* fair= */ true);

  /** The process that gave the last answer. Guarded by {@link #turn}. */
  private RuleWorker worker;

  /**
   * The Python rules' answer to one of the questions of {@code spark_ext/worker/questions.py}.
   *
   * @throws UsageTrackingException USAGE_TRACKING_RULES_UNAVAILABLE
   */
  public static String ask(SparkSession session, String question, String request)
      throws UsageTrackingException {
    List<String> command = RuleWorker.command(session);
    return SHARED.call(
        command, rules -> rules.ask(question, request), timeoutMillis(session, command));
  }

  private static long timeoutMillis(SparkSession session, List<String> command)
      throws UsageTrackingException {
    String timeout = session.conf().get(TIMEOUT, "30s");
    try {
      return JavaUtils.timeStringAsMs(timeout);
    } catch (NumberFormatException noTime) {
      String reason = "`" + TIMEOUT + "` is `" + timeout + "`, which is no time such as `30s`";
      throw UsageTrackingErrors.rulesUnavailable(reason, command, "none", "", noTime);
    }
  }

  /**
   * The answer of the Python rules to {@code question}.
   *
   * @throws UsageTrackingException USAGE_TRACKING_RULES_UNAVAILABLE
   */
  String call(List<String> command, Function<Service, Object> question, long timeoutMillis)
      throws UsageTrackingException {
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
      Thread.currentThread().interrupt();
      throw unavailable("the call was interrupted", asked, command, interrupted);
    } finally {
      if (ours) {
        turn.unlock();
      }
    }
  }

  private RuleWorker running(List<String> command) throws IOException {
    if (worker != null && worker.serves(command)) {
      return worker;
    }
    RuleWorker other = worker;
    // Whatever fails from here on: one that was stopped is asked no more, although its process may
    // be there for a moment yet.
    worker = null;
    if (other != null) {
      other.stop();
    }
    return new RuleWorker(command);
  }

  private static String reason(Throwable error) {
    return error.getMessage() == null ? error.toString() : error.getMessage();
  }

  private static UsageTrackingException unavailable(
      String reason, RuleWorker asked, List<String> command, Throwable cause) {
    if (asked == null) {
      return UsageTrackingErrors.rulesUnavailable(reason, command, "none", "", cause);
    }
    String exitCode = asked.exitCode();
    String stderr = asked.stderr();
    asked.stop();
    return UsageTrackingErrors.rulesUnavailable(reason, command, exitCode, stderr, cause);
  }
}
