// SPDX-License-Identifier: Apache-2.0
import java.util.List;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.delta.catalog.DeltaCatalog;

/** Delta's catalog, which does not give {@code eve} the table {@code secret}. */
public class DenyingCatalog extends DeltaCatalog {
  @Override
  public Table loadTable(Identifier identifier) {
    if (DenyingExtension.denies(SparkSession.active(), "catalog")
        && List.of(identifier.name().split("/")).contains("secret")) {
      throw DenyingExtension.refusal();
    }
    return super.loadTable(identifier);
  }
}
