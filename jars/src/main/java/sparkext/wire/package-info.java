// SPDX-License-Identifier: Apache-2.0
/**
 * Converts Delta's values to JSON for the rule process, and converts the answers back.
 *
 * <p>This is Java, because Delta's values exist in the JVM only.
 */
package sparkext.wire;
