// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

/**
 * What the metadata shows of the moment since which live files are clean; {@code
 * spark_ext/erasure/moment.py} documents each component.
 *
 * @param time of the version in milliseconds since the epoch, as far as Python knows it
 */
public record ErasureStart(long since, Long checked, long version, long time) {
  /** Returns the same start, not before the files of its version in the log. */
  ErasureStart notBefore(LogFolder log) {
    return checked != null || version < 0
        ? this
        : new ErasureStart(since, null, version, Math.max(time, log.timeOf(since)));
  }
}
