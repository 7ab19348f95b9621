// SPDX-License-Identifier: Apache-2.0
/**
 * Converts values of Delta to JSON for the rule process, and its answers back.
 *
 * <p>This is Java, because Delta's values exist in the JVM only.
 */
package sparkext.wire;
