// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.util.Optional;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.functional.CallableRaisingIOE;
import org.apache.hadoop.util.functional.FunctionRaisingIOE;

/** Decides whether a data file is kept, copied or rewritten, and copies the file. */
public final class DataFile {
  /** The possible outcomes for a file. */
  public enum Way {
    /** The file is kept unchanged. */
    KEPT,
    /** A byte copy replaces the file. */
    COPIED,
    /** Delta must read and write the rows of the file. */
    TO_REWRITE,
    /** The file is missing, truncated, not Parquet, without field ids, or on an unknown storage. */
    UNREADABLE
  }

  /**
   * The outcome for a file.
   *
   * @param length of the copy; of the source if no copy was written
   * @param reason why the file must be rewritten or cannot be read; null otherwise
   */
  public record Outcome(Way way, long length, String reason) implements Serializable {
    /** Returns that a readable file must be rewritten for a reason; this outcome without one. */
    public Outcome rewrittenFor(String newReason) {
      return newReason == null || way == Way.UNREADABLE
          ? this
          : new Outcome(Way.TO_REWRITE, length, newReason);
    }
  }

  private final Storages storages;
  private final Path path;
  private final long size;
  private final Renaming renaming;

  /**
   * @param size of the file according to the log
   */
  public DataFile(Storages storages, Path path, long size, Renaming renaming) {
    this.storages = storages;
    this.path = path;
    this.size = size;
    this.renaming = renaming;
  }

  /**
   * Returns the outcome that {@link #copyTo} would have, with the size of the source for a copy.
   */
  public Outcome look(boolean mayBeKept) throws IOException {
    return onKnownStorage(
        () ->
            read(
                () -> storages.open(path, size),
                mayBeKept,
                (source, copy) -> new Outcome(Way.COPIED, size, null)));
  }

  /** Reports only the source's storage as unreadable: the target is in the table's folder. */
  private Outcome onKnownStorage(CallableRaisingIOE<Outcome> reading) throws IOException {
    try {
      storages.of(path);
    } catch (UnknownStorageException unknown) {
      return new Outcome(Way.UNREADABLE, size, unknown.getMessage());
    }
    return reading.apply();
  }

  /**
   * Writes a byte copy of the file if one is needed and possible. An incomplete copy is removed.
   *
   * @param target of the copy; its folders are created
   * @param mayBeKept whether a file without renamed and dropped columns is kept
   * @param checkpoint runs before each piece of at most 16 MiB that is read, and before each part
   *     that a store copies, and may throw to end the copy
   * @throws FileAlreadyExistsException if the target exists; it is unchanged. For a copy by a
   *     store, the target must not exist
   */
  public Outcome copyTo(Path target, boolean mayBeKept, Runnable checkpoint) throws IOException {
    return onKnownStorage(() -> copy(target, mayBeKept, checkpoint));
  }

  private Outcome copy(Path target, boolean mayBeKept, Runnable checkpoint) throws IOException {
    Optional<RangeStore> store = storages.storeOf(path, size, target);
    if (store.isPresent()) {
      try {
        return copyIn(store.get(), target, mayBeKept, checkpoint);
      } catch (StoreRefusedException refused) {
        storages.refused(target, refused);
      }
    }
    CallableRaisingIOE<Outcome> copy =
        () ->
            copy(
                () -> storages.openWhole(path, size),
                source -> storages.create(target),
                target,
                mayBeKept,
                checkpoint);
    return storages.isReadAtOnce(path, size) ? copy.apply() : storages.bufferLock().run(copy);
  }

  private Outcome copyIn(RangeStore store, Path target, boolean mayBeKept, Runnable checkpoint)
      throws IOException {
    try {
      return copy(
          () -> store.open(path, size),
          source -> store.create(source, target, checkpoint),
          target,
          mayBeKept,
          checkpoint);
    } catch (LinkageError unfit) { // other classes than ours were built for
      throw new StoreRefusedException(unfit.toString(), unfit, /* isForAll= */ true);
    }
  }

  private Outcome copy(
      CallableRaisingIOE<InputFile> opening,
      FunctionRaisingIOE<InputFile, OutputStream> creation,
      Path target,
      boolean mayBeKept,
      Runnable checkpoint)
      throws IOException {
    return read(
        opening,
        mayBeKept,
        (source, copy) ->
            new Outcome(Way.COPIED, write(copy, target, creation.apply(source), checkpoint), null));
  }

  /** Handles a file that must be copied and can be copied. */
  private interface Use {
    Outcome of(InputFile source, ByteCopy copy) throws IOException;
  }

  private Outcome read(CallableRaisingIOE<InputFile> opening, boolean mayBeKept, Use use)
      throws IOException {
    try (InputFile source = opening.apply()) {
      ByteCopy copy = new ByteCopy(source, size, renaming, mayBeKept);
      return copy.isKept() ? new Outcome(Way.KEPT, size, null) : use.of(source, copy);
    } catch (NotCopyableException notCopyable) {
      return new Outcome(Way.TO_REWRITE, size, notCopyable.getMessage());
    } catch (UnknownStorageException ofTarget) {
      throw ofTarget;
    } catch (UnreadableFileException unreadable) {
      return new Outcome(Way.UNREADABLE, size, unreadable.getMessage());
    }
  }

  private long write(ByteCopy copy, Path target, OutputStream stream, Runnable checkpoint)
      throws IOException {
    try {
      long length = copy.writeTo(stream, checkpoint);
      stream.close();
      return length;
    } catch (Throwable failed) {
      storages.remove(target, stream, failed);
      throw failed;
    }
  }
}
