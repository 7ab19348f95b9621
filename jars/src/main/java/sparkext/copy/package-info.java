// SPDX-License-Identifier: Apache-2.0
/**
 * The Spark job that copies data files, without knowledge of Delta.
 *
 * <p>This is Java, because its tasks copy bytes on executors.
 */
package sparkext.copy;
