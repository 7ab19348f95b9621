// SPDX-License-Identifier: Apache-2.0
/**
 * Detects plans, transactions and readers that use physical names which files no longer have.
 *
 * <p>This is Java, because every scan runs the check, which usually needs one comparison.
 */
package sparkext.stale;
