// SPDX-License-Identifier: Apache-2.0
/**
 * Reads and writes one data file or one deletion vector, without Spark and Delta.
 *
 * <p>This is Java, because tasks on executors read and write the bytes of files.
 */
package sparkext.parquet;
