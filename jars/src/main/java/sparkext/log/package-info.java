// SPDX-License-Identifier: Apache-2.0
/**
 * Reads a table's {@code _delta_log} and the footers of its files without Delta.
 *
 * <p>This is Java, because tasks on executors read logs and footers as bytes.
 */
package sparkext.log;
