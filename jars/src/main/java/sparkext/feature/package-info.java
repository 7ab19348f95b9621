// SPDX-License-Identifier: Apache-2.0
/**
 * The table feature, and what Delta calls when the feature is dropped.
 *
 * <p>Java, because Delta's list of features holds instances of Delta's own class.
 */
package sparkext.feature;
