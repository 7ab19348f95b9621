// SPDX-License-Identifier: Apache-2.0
/**
 * Detects plans, transactions and readers with physical names that files no longer have.
 *
 * <p>This is Java, because every scan runs the check. A check usually needs one comparison.
 */
package sparkext.stale;
