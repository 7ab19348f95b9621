// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.lang.reflect.Constructor;
import java.util.Arrays;
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
    return file.removeWithTimestamp(System.currentTimeMillis(), /* dataChange= */ false);
  }

  /** Adds a file's rows under new names. All else that the log says of it stays. */
  public static AddFile added(FilePlan.Looked looked, FileResult copy, FilePlaces places) {
    String vector = copy.vector() == null ? null : places.relative(copy.vector());
    AddFile file = looked.file();
    Object[] values = new Object[file.productArity()];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          switch (file.productElementName(i)) {
            case "path" -> places.relative(copy.target());
            case "size" -> copy.size();
            case "modificationTime" -> System.currentTimeMillis();
            case "dataChange" -> false;
            case "partitionValues" ->
                Map$.MODULE$.from(CollectionConverters.asScala(looked.partitionValues()));
            case "stats" -> looked.statistics();
            case "deletionVector" -> CopiedVectors.added(file.deletionVector(), vector);
            default -> file.productElement(i);
          };
    }
    try {
      return (AddFile) ADD.newInstance(values);
    } catch (ReflectiveOperationException otherDelta) {
      throw new IllegalStateException(otherDelta);
    }
  }
}
