// SPDX-License-Identifier: Apache-2.0
import java.util.List;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.delta.catalog.DeltaCatalog;

/** Refuses to load the table {@code secret} for the user {@code eve}. */
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
