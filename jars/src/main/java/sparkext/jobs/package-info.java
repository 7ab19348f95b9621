// SPDX-License-Identifier: Apache-2.0
/**
 * Describes Spark jobs for Spark's pages.
 *
 * <p>Java, because descriptions are properties of a thread of the JVM.
 */
package sparkext.jobs;
