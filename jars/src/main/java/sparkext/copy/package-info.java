// SPDX-License-Identifier: Apache-2.0
/**
 * The Spark job that copies data files, without knowledge of Delta.
 *
 * <p>Java, because its tasks run on executors, on bytes.
 */
package sparkext.copy;
