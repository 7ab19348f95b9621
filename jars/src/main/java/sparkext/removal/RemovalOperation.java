// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import org.apache.spark.sql.delta.DeltaOperations;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Set;
import scala.collection.immutable.Set$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Delta's operation, with metrics of copied files, and deletion vectors that stay.
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

  /** A file keeps its deletion vector, where the table takes no new ones any more. */
  @Override
  public Option<Object> isInPlaceFileMetadataUpdate() {
    return new Some<>(true);
  }

  /** And its statistics, which another writer may have called tight. */
  @Override
  public boolean checkAddFileWithDeletionVectorStatsAreNotTightBounds() {
    return false;
  }
}
