// SPDX-License-Identifier: Apache-2.0
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Runs a name node and a data node until standard input ends, and writes the port to a file. */
public final class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    Path home = Path.of(arguments[0]);
    Configuration conf = new Configuration();
    conf.set("hdfs.minidfs.basedir", home.resolve("data").toString()); // removed at the end
    try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build()) {
      cluster.waitActive();
      Path port = Files.writeString(home.resolve("port.new"), "" + cluster.getNameNodePort());
      Files.move(port, home.resolve("port"));
      System.in.transferTo(System.out);
    }
    System.exit(0); // threads of the cluster linger
  }

  private MiniHdfs() {}
}
