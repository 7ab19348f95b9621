// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import sparkext.parquet.BrokenVectorException;
import sparkext.parquet.DataFile;
import sparkext.parquet.MissingFileException;
import sparkext.parquet.Renaming;
import sparkext.parquet.Storages;
import sparkext.parquet.StoredVector;
import sparkext.parquet.Uninterrupted;

/** Copies one file in a task, or only looks at it. */
record FileCopy(Order order, TaskContext task, Storages storages, Renaming renaming) {
  private static final Pattern ENDING = Pattern.compile("(\\.[a-z0-9_]+)?\\.parquet$");

  /** Where the last two of the five parts of a UUID begin. */
  private static final int UUID_PART = 19;

  FileResult run() throws IOException {
    String target =
        order.target() == null
            ? null
            : order.target() + "-" + task.taskAttemptId() + ending(order.source());
    byte[] vector;
    try {
      vector = vector(target);
    } catch (MissingFileException | BrokenVectorException unreadable) {
      String place = order.vector().stored().place();
      return FileResult.unreadable(order.number(), place, unreadable.getMessage());
    }
    if (order.reason() != null) {
      return FileResult.toRewrite(order.number(), order.reason());
    }
    FileResult result = copied(target);
    return result.target() != null && vector != null && order.vector().target() != null
        ? withVector(result, vector)
        : result;
  }

  private FileResult copied(String target) throws CopyFailedException {
    DataFile file = new DataFile(storages, order.path(), order.size(), renaming);
    try {
      return FileResult.of(
          order,
          target,
          target == null
              ? file.look(order.mayStay())
              : file.copyTo(path(target), order.mayStay(), task::killTaskIfInterrupted));
    } catch (TaskKilledException killed) {
      throw killed;
    } catch (IOException | RuntimeException failure) {
      throw new CopyFailedException(order.source(), target, failure);
    }
  }

  /** Reads the file's deletion vector; null if that is not in a file. */
  private byte[] vector(String target)
      throws IOException, BrokenVectorException, MissingFileException {
    if (order.vector() == null) {
      return null;
    }
    StoredVector stored = order.vector().stored();
    try {
      return stored.read(storages);
    } catch (IOException failure) {
      throw new CopyFailedException(stored.file(), target, failure);
    }
  }

  /** Writes the deletion vector of a copy. If that fails, the copy is removed. */
  private FileResult withVector(FileResult result, byte[] vector) throws IOException {
    String target =
        order.vector().target() + UUID.randomUUID().toString().substring(UUID_PART) + ".bin";
    try {
      StoredVector.write(vector, storages, path(target));
      return result.withVector(target);
    } catch (Throwable failure) {
      remove(List.of(result), storages, failure);
      if (failure instanceof IOException storage) {
        throw new CopyFailedException(order.vector().stored().file(), target, storage);
      }
      throw failure;
    }
  }

  /** Removes what was written. */
  static void remove(List<FileResult> results, Storages storages, Throwable failure) {
    try {
      Uninterrupted.run(
          () -> {
            for (FileResult result : results) {
              remove(result.target(), storages);
              remove(result.vector(), storages);
            }
          });
    } catch (IOException notRemoved) {
      failure.addSuppressed(notRemoved);
    }
  }

  private static void remove(String copy, Storages storages) throws IOException {
    if (copy != null) {
      storages.of(path(copy)).delete(path(copy), /* recursive= */ false);
    }
  }

  private static Path path(String uri) {
    return new Path(URI.create(uri));
  }

  /** That of the name, which shows people how the file is compressed. */
  private static String ending(String source) {
    Matcher ending = ENDING.matcher(source);
    return ending.find() ? ending.group() : ".parquet";
  }
}
