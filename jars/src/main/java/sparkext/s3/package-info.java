// SPDX-License-Identifier: Apache-2.0
/**
 * Writes files to an object store by uploads. The store itself copies parts of existing files.
 *
 * <p>This is Java, because tasks on executors call S3A's client.
 */
package sparkext.s3;
