// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.fail;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import sparkext.common.UsageTrackingException;

/** Tests which process gets a question. Each process is a script that prints an unused port. */
class RuleProcessesTest {
  private static final List<String> SCRIPT = List.of("sh", "-c", "echo 1; exec cat");
  private static final List<String> MISSING = List.of("/no/such/python");
  private static final Function<RuleService, Object> QUESTION = rules -> "answer";

  private final RuleProcesses processes = new RuleProcesses();

  /** The test is repeated, because a stopped process may exist for some time. */
  @RepeatedTest(10)
  void stoppedProcessGetsNoQuestion() throws Exception {
    call(SCRIPT, QUESTION);
    refusal(MISSING, QUESTION);

    assertThat(call(SCRIPT, QUESTION)).isEqualTo("answer");
  }

  @Test
  void errorWithoutTextIsReportedByItsType() {
    UsageTrackingException refused =
        refusal(
            SCRIPT,
            rules -> {
              throw new IllegalStateException();
            });

    assertThat(refused.getMessageParameters())
        .containsEntry("reason", "java.lang.IllegalStateException");
  }

  @Test
  void errorOfTheStartMakesTheRulesUnavailable() {
    assertThat(refusal(List.of(), QUESTION).getMessageParameters()).containsEntry("command", "");
  }

  @Test
  void interruptOfACallIsThrownUnchanged() throws Exception {
    Thread caller = Thread.currentThread();

    assertThatExceptionOfType(InterruptedException.class)
        .isThrownBy(
            () ->
                call(
                    SCRIPT,
                    rules -> {
                      caller.interrupt();
                      return noAnswer();
                    }));
    assertThat(call(SCRIPT, QUESTION)).isEqualTo("answer");
  }

  @Test
  void interruptedThreadSendsNoQuestion() throws Exception {
    Thread.currentThread().interrupt();

    assertThatExceptionOfType(InterruptedException.class)
        .isThrownBy(() -> call(SCRIPT, rules -> fail("was asked")));
  }

  /** A long question to a healthy process must not stop it, nor fail the calls that wait. */
  @Test
  void callWaitsWhileOthersGetAnswersAndThenHasItsWholeTime() throws Exception {
    CompletableFuture<Void> asked = new CompletableFuture<>();
    List<FutureTask<String>> earlier =
        List.of(
            new FutureTask<>(
                () ->
                    call(
                        SCRIPT,
                        rules -> {
                          asked.complete(null);
                          return lateAnswer();
                        })),
            new FutureTask<>(() -> call(SCRIPT, rules -> lateAnswer())));
    new Thread(earlier.get(0)).start();
    asked.join();
    Thread second = new Thread(earlier.get(1));
    second.start();
    while (second.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }

    String last = processes.call(SCRIPT, rules -> lateAnswer(), /* timeoutMillis= */ 3_000);

    assertThat(earlier).allMatch(Future::isDone);
    assertThat(List.of(earlier.get(0).get(), earlier.get(1).get(), last)).containsOnly("late");
  }

  /** Returns an answer after two seconds. */
  private static Object lateAnswer() {
    return new CompletableFuture<Object>().completeOnTimeout("late", 2, TimeUnit.SECONDS).join();
  }

  private static Object noAnswer() {
    try {
      return new CompletableFuture<Object>().get();
    } catch (InterruptedException | ExecutionException stopped) {
      return stopped;
    }
  }

  private String call(List<String> command, Function<RuleService, Object> question)
      throws UsageTrackingException, InterruptedException {
    return processes.call(command, question, /* timeoutMillis= */ 20_000);
  }

  private UsageTrackingException refusal(
      List<String> command, Function<RuleService, Object> question) {
    UsageTrackingException refused =
        catchThrowableOfType(UsageTrackingException.class, () -> call(command, question));
    assertThat(refused.getCondition()).isEqualTo("USAGE_TRACKING_RULES_UNAVAILABLE");
    return refused;
  }
}
