// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import java.util.Set;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** A table's protocol; its features are null below reader version 3 and writer version 7. */
record TableProtocol(
    int minReaderVersion,
    int minWriterVersion,
    Set<String> readerFeatures,
    Set<String> writerFeatures) {
  /** Reads Delta's protocol. */
  static TableProtocol of(Protocol protocol) {
    return new TableProtocol(
        protocol.minReaderVersion(),
        protocol.minWriterVersion(),
        features(protocol.readerFeatures()),
        features(protocol.writerFeatures()));
  }

  private static Set<String> features(Option<scala.collection.immutable.Set<String>> features) {
    return features.isEmpty() ? null : CollectionConverters.asJava(features.get());
  }
}
