// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import scala.Option;
import scala.Some;
import sparkext.parquet.StoredVector;

/**
 * Describes the deletion vectors of copied files.
 *
 * <p>A vector in the table's own folder is kept. A vector with an absolute path is copied with its
 * file: it is in the folder of a shallow clone's source, and VACUUM of either table removes it.
 *
 * <p>Source: Protocol, "Deletion Vector Descriptor Schema"; Delta 4.4.0, VacuumCommand.scala,
 * {@code getDeletionVectorRelativePathAndSize}.
 */
public final class CopiedVectors {
  private static final int UUID_LENGTH = 36;
  private static final String ENDING = ".bin";

  private CopiedVectors() {}

  /** Returns whether queries read the vector of a file from an absolute path. */
  public static boolean isForeign(AddFile file) {
    DeletionVectorDescriptor vector = file.deletionVector();
    return isStored(vector) && vector.storageType().equals("p");
  }

  /** Returns whether queries read a vector from a file. Delta reads no vector without rows. */
  private static boolean isStored(DeletionVectorDescriptor vector) {
    return vector != null && !vector.storageType().equals("i") && vector.cardinality() != 0;
  }

  /** Returns the vector that queries read from a file; null if there is none. */
  static StoredVector stored(AddFile file, Path table) {
    DeletionVectorDescriptor vector = file.deletionVector();
    if (!isStored(vector)) {
      return null;
    }
    int offset = (int) vector.offset().getOrElse(() -> 0);
    return new StoredVector(uri(vector, table), offset, vector.sizeInBytes());
  }

  /** Returns the text of the log if the text is not a path, so that the task reports it. */
  private static String uri(DeletionVectorDescriptor vector, Path table) {
    try {
      return vector.absolutePath(table).toUri().toString();
    } catch (Exception | AssertionError noPath) { // Scala declares no checked exceptions
      return vector.pathOrInlineDv();
    }
  }

  /** Returns the path where Delta reads a vector. */
  static Path path(Path folder, UUID id) {
    return DeletionVectorDescriptor.assembleDeletionVectorPath(folder, id, "");
  }

  /**
   * Returns the descriptor of a copied file's vector.
   *
   * @param path in the log of the vector's copy; null if the vector was not copied
   */
  static DeletionVectorDescriptor added(DeletionVectorDescriptor vector, String path) {
    if (path == null) {
      return vector;
    }
    int end = path.length() - ENDING.length();
    int folder = path.lastIndexOf('/');
    return DeletionVectorDescriptor.onDiskWithRelativePath(
        UUID.fromString(path.substring(end - UUID_LENGTH, end)),
        folder < 0 ? "" : path.substring(0, folder),
        vector.sizeInBytes(),
        vector.cardinality(),
        new Some<>(StoredVector.FIRST),
        Option.empty());
  }

  /** Returns the length of a copy of a file's vector. */
  public static long length(AddFile file) {
    return stored(file, new Path("/")).lengthAlone();
  }
}
