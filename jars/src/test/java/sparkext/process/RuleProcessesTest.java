// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.fail;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
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
