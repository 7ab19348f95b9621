// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.util.Optional;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.util.functional.CallableRaisingIOE;
import sparkext.s3.S3Bucket;
import sparkext.s3.S3Object;
import sparkext.s3.S3Upload;
import sparkext.s3.StoreRefusedException;

/** One data file on any storage, and what a plan makes of it. */
public final class DataFile {
  /** What becomes of a file. */
  public enum Way {
    /** It stays where it is. */
    KEPT,
    /** It is copied, byte by byte, under other names. */
    COPIED,
    /** It has to be read and written row by row. */
    TO_REWRITE,
    /** Nobody can read it: it is missing, cut short, no Parquet file, or on an unknown storage. */
    UNREADABLE
  }

  /**
   * What became of a file.
   *
   * @param length of the file that stands for it now; where there is none, of the source
   * @param reason why it has to be rewritten, or cannot be read; else null
   */
  public record Outcome(Way way, long length, String reason) implements Serializable {}

  private final Storages storages;
  private final Path path;
  private final long size;
  private final Renaming renaming;

  /**
   * @param size of the file, as the table's log has it
   */
  public DataFile(Storages storages, Path path, long size, Renaming renaming) {
    this.storages = storages;
    this.path = path;
    this.size = size;
    this.renaming = renaming;
  }

  /**
   * What {@link #copyTo} would do, by the same decision. A copy is at most as long as its source,
   * or a footer of longer names longer.
   */
  public Outcome look(boolean mayStay) throws IOException {
    return onKnownStorage(
        () ->
            read(
                () -> storages.open(path, size),
                mayStay,
                file -> new Outcome(Way.COPIED, size, null)));
  }

  /** Nobody can read what lies on another. */
  private Outcome onKnownStorage(CallableRaisingIOE<Outcome> reading) throws IOException {
    try {
      storages.of(path);
    } catch (UnknownStorageException unknown) {
      return new Outcome(Way.UNREADABLE, size, unknown.getMessage());
    }
    return reading.apply();
  }

  /**
   * Writes the file under its new names, if it needs them and can be copied. A target that is not
   * complete is removed, whatever ended the copy.
   *
   * @param target of which nothing exists; folders are made
   * @param mayStay whether a file that needs no new name is left where it is
   * @param checkpoint runs before each piece of at most 16 MiB that is read, and before each part
   *     that a store copies, and ends the copy by an exception
   * @throws FileAlreadyExistsException if the target is there already; it stays as it is
   */
  public Outcome copyTo(Path target, boolean mayStay, Runnable checkpoint) throws IOException {
    return onKnownStorage(() -> copy(target, mayStay, checkpoint));
  }

  private Outcome copy(Path target, boolean mayStay, Runnable checkpoint) throws IOException {
    Optional<S3Bucket> bucket = storages.bucketOf(path, size, target);
    if (bucket.isPresent()) {
      try {
        return copyIn(bucket.get(), target, mayStay, checkpoint);
      } catch (StoreRefusedException refused) {
        storages.refused(target, refused);
      }
    }
    CallableRaisingIOE<Outcome> copy =
        () ->
            copy(
                () -> storages.openWhole(path, size),
                () -> create(storages, target),
                target,
                mayStay,
                checkpoint);
    return storages.isReadAtOnce(path, size) ? copy.apply() : storages.buffers().run(copy);
  }

  private Outcome copyIn(S3Bucket bucket, Path target, boolean mayStay, Runnable checkpoint)
      throws IOException {
    S3Object object = new S3Object(bucket, path, size);
    try {
      return copy(
          () -> new S3File(object),
          () -> new S3Upload(bucket, object, target, checkpoint),
          target,
          mayStay,
          checkpoint);
    } catch (LinkageError unfit) {
      throw StoreRefusedException.of(unfit);
    }
  }

  /** What is done with a file that can be copied, and has to be. */
  private interface Use {
    Outcome of(RenamedFile file) throws IOException;
  }

  private Outcome copy(
      CallableRaisingIOE<Source> opening,
      CallableRaisingIOE<OutputStream> creation,
      Path target,
      boolean mayStay,
      Runnable checkpoint)
      throws IOException {
    return read(
        opening,
        mayStay,
        file -> new Outcome(Way.COPIED, write(file, target, creation.apply(), checkpoint), null));
  }

  private Outcome read(CallableRaisingIOE<Source> opening, boolean mayStay, Use use)
      throws IOException {
    try (Source source = opening.apply()) {
      RenamedFile file = new RenamedFile(source, size, renaming);
      return mayStay && file.isClean() ? new Outcome(Way.KEPT, size, null) : use.of(file);
    } catch (NotCopiedException reason) {
      return new Outcome(Way.TO_REWRITE, size, reason.getMessage());
    } catch (NotParquetException reason) {
      return new Outcome(Way.UNREADABLE, size, reason.getMessage());
    } catch (Source.EndException cut) {
      return new Outcome(Way.UNREADABLE, size, "it has fewer than " + size + " bytes");
    } catch (Source.GoneException gone) {
      return new Outcome(Way.UNREADABLE, size, MissingFileException.REASON);
    }
  }

  private long write(RenamedFile file, Path target, OutputStream stream, Runnable checkpoint)
      throws IOException {
    try {
      long length = file.writeTo(stream, checkpoint);
      stream.close();
      return length;
    } catch (Throwable failed) {
      remove(storages, target, stream, failed);
      throw failed;
    }
  }

  /** Folders are made by the storage, or need not be: an object store has none. */
  static OutputStream create(Storages storages, Path target) throws IOException {
    FileSystem storage = storages.of(target);
    if (!LocalDisk.has(storage)) {
      return storage.create(target, false);
    }
    try {
      return storages.onDisk(storage, target);
    } catch (java.nio.file.FileAlreadyExistsException exists) {
      throw new FileAlreadyExistsException(target + " already exists");
    }
  }

  /**
   * Removes what was written of a file. Closing completes a file on a store of objects, unless it
   * is aborted before.
   *
   * @param failed what ended the writing
   */
  static void remove(Storages storages, Path target, OutputStream stream, Throwable failed) {
    try {
      Uninterrupted.run(() -> abortAndDelete(storages, target, stream));
    } catch (IOException | RuntimeException besides) {
      failed.addSuppressed(besides);
    }
  }

  private static void abortAndDelete(Storages storages, Path target, OutputStream stream)
      throws IOException {
    try (stream) {
      if (stream instanceof S3Upload upload) {
        upload.abort();
      } else if (stream instanceof FSDataOutputStream upload
          && upload.hasCapability(StreamCapabilities.ABORTABLE_STREAM)) {
        upload.abort();
      }
    } finally {
      storages.of(target).delete(target, false);
    }
  }
}
