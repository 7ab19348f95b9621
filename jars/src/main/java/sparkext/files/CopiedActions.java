// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.FileRequest.FileResult;

/** Makes the actions that replace a file by its copy. */
public final class CopiedActions {
  /** Found by reflection, because releases of Delta add fields to {@code AddFile}. */
  private static final Constructor<?> ADD =
      Arrays.stream(AddFile.class.getConstructors())
          .max((one, other) -> one.getParameterCount() - other.getParameterCount())
          .orElseThrow();

  private CopiedActions() {}

  /** Returns the action that removes a copied file, whose rows are in the copy. */
  public static Action removed(AddFile file) {
    return with(file, Map.of())
        .removeWithTimestamp(System.currentTimeMillis(), /* dataChange= */ false);
  }

  /** Returns the action that adds a copy. Other values of the file are unchanged. */
  public static AddFile added(FilePlan.FileDecision decision, FileResult copy, TablePaths paths) {
    String vector = copy.vector() == null ? null : paths.relative(copy.vector());
    AddFile file = decision.file();
    Map<String, Object> changes = new HashMap<>();
    changes.put("path", paths.relative(copy.target()));
    changes.put("size", copy.size());
    changes.put("modificationTime", System.currentTimeMillis());
    changes.put("dataChange", false);
    changes.put(
        "partitionValues",
        Map$.MODULE$.from(CollectionConverters.asScala(decision.partitionValues())));
    changes.put("stats", decision.statistics());
    changes.put("deletionVector", CopiedVectors.added(file.deletionVector(), vector));
    return with(file, changes);
  }

  /**
   * Returns a copy of an action with other values. An empty map of tags becomes null, because Delta
   * reads an action without tags as an empty map.
   */
  private static AddFile with(AddFile file, Map<String, Object> changes) {
    Object[] values = new Object[file.productArity()];
    for (int i = 0; i < values.length; i++) {
      String name = file.productElementName(i);
      values[i] = changes.containsKey(name) ? changes.get(name) : file.productElement(i);
      if (name.equals("tags") && file.tags() != null && file.tags().isEmpty()) {
        values[i] = null;
      }
    }
    try {
      return (AddFile) ADD.newInstance(values);
    } catch (ReflectiveOperationException otherDelta) {
      throw new IllegalStateException(otherDelta);
    }
  }
}
