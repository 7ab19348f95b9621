// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** Serves the local disk under another scheme. A subclass may wrap the streams of new files. */
abstract class LocalStorage extends RawLocalFileSystem {
  @Override
  public abstract String getScheme();

  abstract FSDataOutputStream wrapped(Path file, FSDataOutputStream stream) throws IOException;

  @Override
  public URI getUri() {
    return URI.create(getScheme() + ":///");
  }

  @Override
  public FSDataOutputStream create(
      Path file, boolean overwrite, int buffer, short replicas, long block, Progressable progress)
      throws IOException {
    return wrapped(file, super.create(file, overwrite, buffer, replicas, block, progress));
  }

  @Override
  public FSDataOutputStream create(
      Path file,
      FsPermission mode,
      boolean overwrite,
      int buffer,
      short replicas,
      long block,
      Progressable progress)
      throws IOException {
    return wrapped(file, super.create(file, mode, overwrite, buffer, replicas, block, progress));
  }
}
