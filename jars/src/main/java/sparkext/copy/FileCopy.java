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
import sparkext.common.UsageTrackingErrors;
import sparkext.copy.FileRequest.FileResult;
import sparkext.parquet.DataFile;
import sparkext.parquet.Renaming;
import sparkext.parquet.Storages;
import sparkext.parquet.StoredVector;
import sparkext.parquet.Uninterrupted;
import sparkext.parquet.UnreadableFileException;

/** Reads or copies the file of one request, inside a Spark task. */
record FileCopy(FileRequest request, TaskContext task, Storages storages, Renaming renaming) {
  private static final Pattern ENDING = Pattern.compile("(\\.[a-z0-9_]+)?\\.parquet$");

  /** The position in a UUID at which its last two parts begin. */
  private static final int UUID_PART = 19;

  FileResult run() throws IOException {
    String target =
        request.target() == null
            ? null
            : request.target() + "-" + task.taskAttemptId() + ending(request.source());
    byte[] vector;
    try {
      vector = vector(target);
    } catch (UnreadableFileException unreadable) {
      return new FileResult(
          request.number(),
          DataFile.Way.UNREADABLE,
          /* target= */ null,
          /* size= */ 0,
          unreadable.getMessage(),
          request.vector().place(),
          /* vector= */ null);
    }
    FileResult result = copied(target);
    return result.target() != null && request.vectorTarget() != null
        ? withVector(result, vector)
        : result;
  }

  private FileResult copied(String target) throws CopyFailedException {
    DataFile file = new DataFile(storages, request.path(), request.size(), renaming);
    try {
      return FileResult.of(
          request,
          target,
          target == null
              ? file.look(request.mayBeKept()).rewrittenFor(request.reason())
              : file.copyTo(path(target), request.mayBeKept(), task::killTaskIfInterrupted));
    } catch (TaskKilledException killed) {
      throw killed;
    } catch (IOException | RuntimeException failure) {
      throw new CopyFailedException(request.source(), target, failure);
    }
  }

  /** Returns the bytes of the deletion vector; null if the request has no vector. */
  private byte[] vector(String target) throws IOException {
    if (request.vector() == null) {
      return null;
    }
    try {
      return request.vector().read(storages);
    } catch (UnreadableFileException unreadable) {
      throw unreadable;
    } catch (IOException failure) {
      throw new CopyFailedException(request.vector().file(), target, failure);
    }
  }

  /** Writes the copy of the vector. If the write fails, removes the copy of the data file. */
  private FileResult withVector(FileResult result, byte[] vector) throws IOException {
    String target =
        request.vectorTarget() + UUID.randomUUID().toString().substring(UUID_PART) + ".bin";
    try {
      StoredVector.write(vector, storages, path(target));
      return result.withVector(target);
    } catch (Throwable failure) {
      remove(List.of(result), storages, failure);
      if (failure instanceof IOException storage) {
        throw new CopyFailedException(request.vector().file(), target, storage);
      }
      throw failure;
    }
  }

  /**
   * Removes the copies of these results.
   *
   * @param failure the reason for the removal; gets a failure of the removal as suppressed
   */
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

  /** Returns the ending of a file's name, such as {@code .snappy.parquet}, for its copy. */
  private static String ending(String source) {
    Matcher ending = ENDING.matcher(source);
    return ending.find() ? ending.group() : ".parquet";
  }

  /**
   * Thrown if a task failed to copy a file, or to read the file's footer if there is no target. It
   * has only the text and stack trace of its cause: the driver may lack the class of the cause.
   */
  static final class CopyFailedException extends IOException {
    private static final long serialVersionUID = 1L;

    private final String source;
    private final String target;

    CopyFailedException(String source, String target, Exception cause) {
      super(cause.toString());
      this.source = source;
      this.target = target;
      setStackTrace(cause.getStackTrace());
    }

    /** Returns an error with a condition if this exception ended a job; else the failure itself. */
    static Throwable described(Throwable failure) {
      for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
        if (cause instanceof CopyFailedException copy) {
          return copy.target == null
              ? UsageTrackingErrors.unreadableDataFile(copy.source, copy.getMessage(), failure)
              : UsageTrackingErrors.copyFailed(
                  copy.source, copy.target, copy.getMessage(), failure);
        }
      }
      return failure;
    }
  }
}
