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
import sparkext.copy.FileResult;

/** What the log says of a file once it is copied. */
public final class CopiedActions {
  /** A release adds fields to an {@code add}, and gives {@code copy} more arguments with them. */
  private static final Constructor<?> ADD =
      Arrays.stream(AddFile.class.getConstructors())
          .max((one, other) -> one.getParameterCount() - other.getParameterCount())
          .orElseThrow();

  private CopiedActions() {}

  /** That its rows are elsewhere. */
  public static Action removed(AddFile file) {
    return with(file, Map.of())
        .removeWithTimestamp(System.currentTimeMillis(), /* dataChange= */ false);
  }

  /** Adds a file's rows under new names. All else that the log says of it stays. */
  public static AddFile added(FilePlan.FileDecision looked, FileResult copy, FilePlaces places) {
    String vector = copy.vector() == null ? null : places.relative(copy.vector());
    AddFile file = looked.file();
    Map<String, Object> changes = new HashMap<>();
    changes.put("path", places.relative(copy.target()));
    changes.put("size", copy.size());
    changes.put("modificationTime", System.currentTimeMillis());
    changes.put("dataChange", false);
    changes.put(
        "partitionValues",
        Map$.MODULE$.from(CollectionConverters.asScala(looked.partitionValues())));
    changes.put("stats", looked.statistics());
    changes.put("deletionVector", CopiedVectors.added(file.deletionVector(), vector));
    return with(file, changes);
  }

  /** A file without tags has an empty map of them once it is read as JSON, which is not written. */
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
