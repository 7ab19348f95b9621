// SPDX-License-Identifier: Apache-2.0
/**
 * Checks statements before they run, and refuses some of them.
 *
 * <p>This is Java, because Spark calls its parser and its analyzer rules for every statement.
 */
package sparkext.check;
