// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * A new file on a local disk, without a buffer. Created and never truncated: ext4 ({@code
 * auto_da_alloc}) writes a file that was truncated to the disk before it is closed.
 */
final class DiskStream extends OutputStream {
  private final FileChannel channel;

  /**
   * Creates it.
   *
   * @param permissions which it gets whatever the process would leave out
   * @throws java.nio.file.FileAlreadyExistsException if it is there already; it stays as it is
   */
  DiskStream(Path file, Set<PosixFilePermission> permissions) throws IOException {
    channel =
        FileChannel.open(
            file, Set.of(CREATE_NEW, WRITE), PosixFilePermissions.asFileAttribute(permissions));
    try {
      if (!Files.getPosixFilePermissions(file).equals(permissions)) {
        Files.setPosixFilePermissions(file, permissions);
      }
    } catch (IOException | RuntimeException failed) {
      channel.close();
      Files.delete(file);
      throw failed;
    }
  }

  FileChannel channel() {
    return channel;
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
