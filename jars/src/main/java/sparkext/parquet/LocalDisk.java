// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Files that the JVM opens without Hadoop, so that the kernel copies their bytes. */
final class LocalDisk {
  /** Hive's file system differs from Hadoop's in renaming only. Spark with Hive uses Hive's. */
  private static final Set<String> STORAGES =
      Set.of(LocalFileSystem.class.getName(), "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem");

  private LocalDisk() {}

  /**
   * Returns false for other subclasses of Hadoop's class, which may do more than read and write.
   */
  static boolean has(FileSystem storage) {
    return STORAGES.contains(storage.getClass().getName())
        && ((LocalFileSystem) storage).getRaw().getClass() == RawLocalFileSystem.class
        && FileSystems.getDefault().supportedFileAttributeViews().contains("posix");
  }

  /** Returns lengths by name, without the attributes that Hadoop reads for every file. */
  static Map<String, Long> lengths(FileSystem storage, Path folder, String inName)
      throws IOException {
    Map<String, Long> found = new HashMap<>();
    try (DirectoryStream<java.nio.file.Path> files =
        Files.newDirectoryStream(
            file(storage, folder), file -> file.getFileName().toString().contains(inName))) {
      for (java.nio.file.Path file : files) {
        try {
          found.put(file.getFileName().toString(), Files.size(file));
        } catch (NoSuchFileException removed) {
          continue;
        }
      }
    } catch (DirectoryIteratorException failed) {
      throw failed.getCause();
    }
    return found;
  }

  static InputFile open(FileSystem storage, Path path, long size) throws IOException {
    try {
      return new Input(FileChannel.open(file(storage, path)), size);
    } catch (NoSuchFileException missing) {
      throw new MissingFileException();
    }
  }

  /**
   * Creates a file. A file that exists is never truncated: ext4 ({@code auto_da_alloc}) writes a
   * truncated file to the disk before it is closed.
   *
   * @param permissions of the file, without the umask of the process
   * @throws java.nio.file.FileAlreadyExistsException if the file exists; it is unchanged
   */
  static OutputStream create(FileSystem storage, Path path, Set<PosixFilePermission> permissions)
      throws IOException {
    java.nio.file.Path file = file(storage, path);
    FileChannel channel =
        FileChannel.open(
            file, Set.of(CREATE_NEW, WRITE), PosixFilePermissions.asFileAttribute(permissions));
    try {
      if (!Files.getPosixFilePermissions(file).equals(permissions)) {
        Files.setPosixFilePermissions(file, permissions);
      }
      return new Output(channel);
    } catch (IOException | RuntimeException failed) {
      channel.close();
      Files.delete(file);
      throw failed;
    }
  }

  private static java.nio.file.Path file(FileSystem storage, Path path) {
    return ((LocalFileSystem) storage).pathToFile(path).toPath();
  }

  /**
   * @param size of the file according to the log
   */
  private record Input(FileChannel file, long size) implements InputFile {
    private static final int PIECE = 16 << 20;

    @Override
    public void read(long start, byte[] bytes) throws IOException {
      ByteBuffer rest = ByteBuffer.wrap(bytes);
      while (rest.hasRemaining()) {
        if (file.read(rest, start + rest.position()) < 0) {
          throw UnreadableFileException.shorterThan(size);
        }
      }
    }

    /** Copies to an {@link Output} without a buffer. */
    @Override
    public void copy(long start, long length, OutputStream target, Runnable checkpoint)
        throws IOException {
      WritableByteChannel channel =
          target instanceof Output disk ? disk.channel : Channels.newChannel(target);
      for (long done = 0; done < length; ) {
        checkpoint.run();
        long moved = file.transferTo(start + done, Math.min(length - done, PIECE), channel);
        if (moved <= 0) {
          throw UnreadableFileException.shorterThan(size);
        }
        done += moved;
      }
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }

  /** Writes without a buffer. */
  private static final class Output extends OutputStream {
    private final FileChannel channel;

    Output(FileChannel channel) {
      this.channel = channel;
    }

    @Override
    public void write(int one) throws IOException {
      write(new byte[] {(byte) one});
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      ByteBuffer rest = ByteBuffer.wrap(bytes, offset, length);
      while (rest.hasRemaining()) {
        channel.write(rest);
      }
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
