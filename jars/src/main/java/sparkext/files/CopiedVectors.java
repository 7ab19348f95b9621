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
 * Finds the deletion vectors of files, and describes the vectors of their copies for the log.
 *
 * <p>If a vector is in the table's own folder, the copy of the data file uses the same vector. If a
 * vector has an absolute path, the vector is in the folder of a shallow clone's source, and is
 * copied too: VACUUM protects no vector with an absolute path.
 *
 * <p>Source: Protocol, "Deletion Vector Descriptor Schema"; Delta 4.4.0, VacuumCommand.scala,
 * {@code getDeletionVectorRelativePathAndSize}.
 */
public final class CopiedVectors {
  private static final int UUID_LENGTH = 36;
  private static final String ENDING = ".bin";

  private CopiedVectors() {}

  /** Returns whether queries read a vector of this file, and the log has its absolute path. */
  public static boolean isForeign(AddFile file) {
    DeletionVectorDescriptor vector = file.deletionVector();
    return isStored(vector) && vector.storageType().equals("p");
  }

  /** Returns true for a vector in a file. Delta does not read a vector that deletes no row. */
  private static boolean isStored(DeletionVectorDescriptor vector) {
    return vector != null && !vector.storageType().equals("i") && vector.cardinality() != 0;
  }

  /** Returns where queries read the vector of a data file; null if no file contains a vector. */
  static StoredVector stored(AddFile file, Path table) {
    DeletionVectorDescriptor vector = file.deletionVector();
    if (!isStored(vector)) {
      return null;
    }
    int offset = (int) vector.offset().getOrElse(() -> 0);
    return new StoredVector(uri(vector, table), offset, vector.sizeInBytes());
  }

  /**
   * Returns the URI of the file with a vector. If the log has no valid path, returns the text in
   * the log, and the task that reads the vector reports the text.
   */
  private static String uri(DeletionVectorDescriptor vector, Path table) {
    try {
      return vector.absolutePath(table).toUri().toString();
    } catch (Exception | AssertionError invalidPath) { // Scala declares no checked exceptions
      return vector.pathOrInlineDv();
    }
  }

  /** Returns the path of the file that Delta reads for the vector with this id. */
  static Path path(Path folder, UUID id) {
    return DeletionVectorDescriptor.assembleDeletionVectorPath(folder, id, "");
  }

  /**
   * Returns the descriptor of the deletion vector for the copy of a data file.
   *
   * @param vector the descriptor for the data file itself
   * @param path the path of the vector's copy, as the log has paths; null if the vector was not
   *     copied
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

  /** Returns the size of the file with the copy of a data file's vector, in bytes. */
  public static long length(AddFile file) {
    return stored(file, new Path("/")).lengthAlone();
  }
}
