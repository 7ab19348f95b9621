// SPDX-License-Identifier: Apache-2.0
/**
 * Calls of Delta whose names or parameters differ between releases.
 *
 * <p>Java, because the calls are compiled against Delta.
 */
package sparkext.shim;
