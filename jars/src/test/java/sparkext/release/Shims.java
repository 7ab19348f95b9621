// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static java.util.stream.Collectors.partitioningBy;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Finds our classes that adapt to Delta 4.0, and the members that they name and it lacks. */
final class Shims {
  private static final String DELTA = "org.apache.spark.sql.delta.";

  private static final List<String> OF_DELTA_4_0 =
      Stream.of(
              DELTA + "DeltaConfigs$.entries ()Ljava/util/HashMap;",
              DELTA + "DeltaLog.getChangeLogFiles (JLscala/Option;Z)Lscala/collection/Iterator;",
              DELTA
                  + "DeltaLog.getSnapshotAt (JLscala/Option;Lscala/Option;Z)"
                  + "Lorg/apache/spark/sql/delta/Snapshot;",
              DELTA + "PreDowngradeStatus",
              DELTA
                  + "PreDowngradeStatus.DID_NOT_PERFORM_CHANGES ()"
                  + "Lorg/apache/spark/sql/delta/PreDowngradeStatus;",
              DELTA + "actions.InMemoryLogReplay.<init> (Lscala/Option;Lscala/Option;)V")
          .sorted()
          .toList();

  private static final Map<Boolean, List<byte[]>> OURS =
      Linkage.classFiles(Path.of("target", "classes")).stream()
          .collect(partitioningBy(Linkage::adapts));

  private Shims() {}

  /** Returns the class files of the adapting classes. */
  static List<byte[]> adapting() {
    return OURS.get(true);
  }

  /** Returns all other class files. */
  static List<byte[]> others() {
    return OURS.get(false);
  }

  /** Returns the members that the adapting classes name and a release of Delta lacks. */
  static List<String> missingIn(String delta) {
    return delta.startsWith("4.0.") ? OF_DELTA_4_0 : List.of();
  }
}
