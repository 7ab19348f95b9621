// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import sparkext.s3.PartPlan.Copied;
import sparkext.s3.PartPlan.New;
import sparkext.s3.PartPlan.Part;
import sparkext.s3.PartPlan.Piece;
import sparkext.s3.PartPlan.Range;
import sparkext.s3.PartPlan.Sent;

/** Plans uploads of objects too large for a test, and checks them against S3's limits. */
class PartPlanTest {
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;
  private static final long TIB = 1L << 40;
  private static final New FOOTER = new New(new byte[1000]);

  @Test
  void renamedFileIsOneCopiedPartAndItsFooter() {
    assertThat(PartPlan.of(List.of(new Range(0, 71 * MIB), FOOTER)))
        .containsExactly(new Copied(new Range(0, 71 * MIB)), new Sent(List.of(FOOTER)));
  }

  @Test
  void shortRangeIsSent() {
    Range range = new Range(0, 5 * MIB - 1);

    assertThat(PartPlan.of(List.of(range, FOOTER)))
        .containsExactly(new Sent(List.of(range, FOOTER)));
  }

  @Test
  void rangeOfMinimumLengthIsCopied() {
    Range range = new Range(0, 5 * MIB);

    assertThat(PartPlan.of(List.of(range, FOOTER)))
        .containsExactly(new Copied(range), new Sent(List.of(FOOTER)));
  }

  @Test
  void newBytesAtTheBeginningAreSentWithTheFirstBytesOfARange() {
    List<Part> parts = PartPlan.of(List.of(FOOTER, new Range(4, 100 * MIB)));

    assertThat(parts)
        .containsExactly(
            new Sent(List.of(FOOTER, new Range(4, 5 * MIB - 1000))),
            new Copied(new Range(4 + 5 * MIB - 1000, 95 * MIB + 1000)));
  }

  @ParameterizedTest
  @ValueSource(longs = {5 * GIB - 1, 5 * GIB, 5 * GIB + 1, 100 * GIB, TIB, 5 * TIB, 39 * TIB})
  void partsOfLongRangesAreWithinTheLimits(long length) {
    requireWithinLimits(List.of(new Range(0, length), FOOTER));
  }

  @Test
  void partsOfManyShortRangesAreWithinTheLimits() {
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < 60_000; i++) {
      pieces.add(new Range(i * 2 * MIB, MIB)); // 12,000 parts of the minimum length
    }
    pieces.add(FOOTER);

    requireWithinLimits(pieces);
  }

  @Test
  void partsOfManyLongRangesAreWithinTheLimits() {
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < 12_000; i++) {
      pieces.add(new Range(i * 8 * MIB, 6 * MIB)); // each could be a part
    }

    requireWithinLimits(pieces);
  }

  @Test
  void objectThatIsTooLargeHasNoPlan() {
    assertThat(PartPlan.of(List.of(new Range(0, 50_000 * GIB)))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void partsOfRandomPiecesAreWithinTheLimits(int seed) {
    Random random = new Random(seed);
    for (int run = 0; run < 500; run++) {
      List<Piece> pieces = new ArrayList<>();
      long start = 0;
      for (int i = random.nextInt(1, 40); i > 0; i--) {
        start += random.nextLong(1, 3 * MIB);
        long length = random.nextLong(1, 1L << random.nextInt(1, 34));
        pieces.add(random.nextInt(4) == 0 ? new New(new byte[100]) : new Range(start, length));
        start += length;
      }
      requireWithinLimits(pieces);
    }
  }

  private static void requireWithinLimits(List<Piece> pieces) {
    List<Part> parts = PartPlan.of(pieces);

    assertThat(parts).hasSizeBetween(1, 10_000);
    List<Piece> planned = new ArrayList<>();
    for (Part part : parts) {
      List<Piece> inPart =
          part instanceof Copied copied ? List.of(copied.range()) : ((Sent) part).pieces();
      long length = inPart.stream().mapToLong(Piece::length).sum();
      assertThat(length).isPositive().isLessThanOrEqualTo(5 * GIB);
      if (part != parts.get(parts.size() - 1)) {
        assertThat(length).isGreaterThanOrEqualTo(5 * MIB);
      }
      if (part instanceof Sent) {
        assertThat(length).isLessThan(3 * 80 * MIB);
      }
      planned.addAll(inPart);
    }
    assertThat(joined(planned)).isEqualTo(joined(pieces));
  }

  /** Joins adjacent ranges. */
  private static List<Piece> joined(List<Piece> pieces) {
    List<Piece> joined = new ArrayList<>();
    for (Piece piece : pieces) {
      int last = joined.size() - 1;
      if (last >= 0
          && joined.get(last) instanceof Range before
          && piece instanceof Range range
          && before.start() + before.length() == range.start()) {
        joined.set(last, new Range(before.start(), before.length() + range.length()));
      } else {
        joined.add(piece);
      }
    }
    return joined;
  }
}
