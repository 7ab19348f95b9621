// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import sparkext.common.UnsupportedSparkException;

/** Tests which releases of Spark are refused by their version. */
class SparkReleaseTest {
  @ParameterizedTest
  @CsvSource({"3.5.8, 2.12.18", "3.5.8, 2.13.8", "4.2.0, 2.12.20", "(unknown version), 2.13.18"})
  void sparkThatIsOldOrOfAnotherScalaIsRefused(String spark, String scala) {
    UnsupportedSparkException refused =
        catchThrowableOfType(
            UnsupportedSparkException.class, () -> SparkRelease.require(spark, scala));

    assertThat(refused.getCondition()).isEqualTo("USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION");
    assertThat(refused.getSqlState()).isEqualTo("0A000");
    assertThat(refused.getMessageParameters())
        .containsEntry("spark", spark + " of Scala " + scala)
        .containsOnlyKeys("spark", "delta", "supported");
  }

  @ParameterizedTest
  @CsvSource({"4.0.0, 2.13.16", "4.2.0-SNAPSHOT, 2.13.18", "5.0.0, 2.13.20", "10.1, 2.13.1"})
  void newerSparkIsAccepted(String spark, String scala) {
    assertThatCode(() -> SparkRelease.require(spark, scala)).doesNotThrowAnyException();
  }

  @Test
  void thisSparkIsSupported() {
    assertThatCode(SparkRelease::requireSupported).doesNotThrowAnyException();
  }
}
