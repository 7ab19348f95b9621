// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import sparkext.common.UsageTrackingException;
import sparkext.wire.PlanJson.AllowedRemoval;

/** Tests that answers become records, with the oldest Jackson. */
class AnswerJsonTest {
  private static final String PLAN =
      """
      {"byId": false, "keepsIds": false, "kept": ["k"], "ignored": [], "columns": [{"id": 1, "name": "a", "newName": "b", "type": {}}]}
      """;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{\"free\": true}",
        "{\"plan\": null}",
        "{\"free\": null, \"plan\": null}",
        "{\"free\": 1, \"plan\": null}",
        "{\"free\": \"true\", \"plan\": null}",
        "{\"free\": true, \"plan\": null, \"other\": 1}",
        "{\"free\": false, \"plan\": []}",
        "{\"free\": false, \"plan\": {\"byId\": true}}",
      })
  void anotherShapeIsNotAnAnswer(String text) {
    assertThatThrownBy(() -> AnswerJson.record(text, AllowedRemoval.class))
        .isInstanceOfSatisfying(
            UsageTrackingException.class,
            error ->
                assertThat(error.getCondition()).isEqualTo("USAGE_TRACKING_MALFORMED_MESSAGE"));
  }

  @Test
  void keysAreComponents() throws UsageTrackingException {
    assertThat(AnswerJson.record("{\"many\": 2, \"name\": \"a\"}", Plain.class))
        .isEqualTo(new Plain("a", 2));
  }

  @Test
  void removalIsMetadataOnlyOrHasAPlan() throws UsageTrackingException {
    AllowedRemoval free =
        AnswerJson.record("{\"free\": true, \"plan\": null}", AllowedRemoval.class);
    AllowedRemoval costly =
        AnswerJson.record("{\"free\": false, \"plan\": " + PLAN + "}", AllowedRemoval.class);

    assertThat(free.isFree()).isTrue();
    assertThat(free.plan()).isEmpty();
    assertThat(costly.isFree()).isFalse();
    assertThat(costly.plan().orElseThrow().kept()).containsExactly("k");
  }

  record Plain(String name, long many) {}
}
