// SPDX-License-Identifier: Apache-2.0
/**
 * Starts the rule process and calls its {@code RuleService}, which has one method.
 *
 * <p>This is Java, because the JVM calls the process.
 */
package sparkext.process;
