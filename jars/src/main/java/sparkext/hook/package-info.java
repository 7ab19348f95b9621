// SPDX-License-Identifier: Apache-2.0
/**
 * The methods of Delta that spark-ext changes, and the code that weaves them.
 *
 * <p>This is Java, because advice runs inside Delta's calls.
 */
package sparkext.hook;
