// SPDX-License-Identifier: Apache-2.0
/**
 * Starts the rule process and asks it: one {@code RuleService} with one method.
 *
 * <p>Java, because the JVM is the side that needs answers.
 */
package sparkext.process;
