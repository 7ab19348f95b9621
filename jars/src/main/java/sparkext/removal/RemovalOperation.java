// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import org.apache.spark.sql.delta.DeltaOperations;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Set;
import scala.collection.immutable.Set$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Delta's operation with metrics of copied files. Its commits may contain deletion vectors.
 *
 * <p>Source: Delta 4.4.0, DeltaOperations.scala, {@code RemoveColumnMapping}.
 */
final class RemovalOperation extends DeltaOperations.RemoveColumnMapping {
  private static final long serialVersionUID = 1L;

  RemovalOperation() {
    super(Option.empty());
  }

  @Override
  public Set<String> operationMetrics() {
    return Set$.MODULE$.from(CollectionConverters.asScala(RemovalMetrics.METRICS));
  }

  /** Allows deletion vectors of copies even if the table allows no new deletion vectors. */
  @Override
  public Option<Object> isInPlaceFileMetadataUpdate() {
    return new Some<>(true);
  }

  /** Allows statistics of copies that another writer marked as tight. */
  @Override
  public boolean checkAddFileWithDeletionVectorStatsAreNotTightBounds() {
    return false;
  }
}
