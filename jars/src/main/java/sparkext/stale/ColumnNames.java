// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.DeltaColumnMappingMode;
import org.apache.spark.sql.delta.IdMapping$;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.schema.SchemaMergingUtils$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The columns of a version of a table, at every level, and what finds them in its files: names,
 * physical names or ids, as the mode wants it.
 *
 * <p>Two versions are compared by what a reader with the one finds in files of the other, not by
 * how the one became the other. Source: Protocol, "Reader Requirements for Column Mapping".
 */
record ColumnNames(StructType schema, DeltaColumnMappingMode mode) {
  private static final BiPredicate<DataType, DataType> ANY_TYPES = (here, there) -> true;

  static ColumnNames of(Metadata metadata) {
    return new ColumnNames(metadata.schema(), metadata.columnMappingMode());
  }

  /**
   * Whether a plan with these columns reads files of the other version rightly: it finds each
   * column, of the type that it expects, and null only where it expects null.
   *
   * <p>Source: Delta 4.4.0, SchemaUtils.scala, {@code isReadCompatible}, which knows no mapping.
   */
  boolean readFilesOf(ColumnNames other) {
    boolean haveIds = mode.equals(IdMapping$.MODULE$);
    return haveIds == other.mode.equals(IdMapping$.MODULE$)
        && isSubsetOf(
            schema,
            other.schema,
            (here, there) ->
                nameInFiles(here).equals(other.nameInFiles(there))
                    && (!haveIds || Objects.equals(id(here), id(there)))
                    && (here.nullable() || !there.nullable()),
            ColumnNames::holds);
  }

  /** Whether the other has each column under the same name, in the table and in files. */
  boolean isSubsetOf(ColumnNames other) {
    return isSubsetOf(
        schema,
        other.schema,
        (here, there) -> nameInFiles(here).equals(other.nameInFiles(there)),
        ANY_TYPES);
  }

  /** The path of each column, in arrays and maps as Delta writes it. */
  Set<Seq<String>> paths() {
    return byPath().keySet();
  }

  /**
   * Whether two versions have columns at these paths, and these are the same in both: by their ids;
   * where column mapping was switched on or off in between, by their names.
   */
  static boolean areKept(Set<Seq<String>> paths, ColumnNames before, ColumnNames after) {
    boolean haveIds = before.areMapped() && after.areMapped();
    Map<Seq<String>, StructField> then = before.byPath();
    Map<Seq<String>, StructField> now = after.byPath();
    return paths.stream()
        .allMatch(
            path ->
                then.containsKey(path)
                    && now.containsKey(path)
                    && (!haveIds || Objects.equals(id(then.get(path)), id(now.get(path)))));
  }

  /** Whether one version has a column of these names that a later one has not. */
  boolean loseSome(ColumnNames before, ColumnNames after) {
    Map<Seq<String>, StructField> then = before.byPath();
    Map<Seq<String>, StructField> now = after.byPath();
    return paths().stream().anyMatch(path -> then.containsKey(path) && !now.containsKey(path));
  }

  private Map<Seq<String>, StructField> byPath() {
    Map<Seq<String>, StructField> fields = new HashMap<>();
    CollectionConverters.asJava(SchemaMergingUtils$.MODULE$.explode(schema))
        .forEach(pathAndField -> fields.put(pathAndField._1(), pathAndField._2()));
    return fields;
  }

  /** Whether the other has columns that are not here. */
  boolean lacksColumnsOf(ColumnNames other) {
    return !isSubsetOf(other.schema, schema, (here, there) -> true, ANY_TYPES);
  }

  /** Whether each column has its own name in the files. */
  boolean areOwn() {
    return isSubsetOf(
        schema, schema, (here, same) -> nameInFiles(here).equals(here.name()), ANY_TYPES);
  }

  boolean areMapped() {
    return !mode.equals(NoMapping$.MODULE$);
  }

  private String nameInFiles(StructField field) {
    return areMapped() ? DeltaColumnMapping$.MODULE$.getPhysicalName(field) : field.name();
  }

  /** Whether each field of a type is in another of the same name that passes, and so its type. */
  private static boolean isSubsetOf(
      DataType here,
      DataType there,
      BiPredicate<StructField, StructField> fields,
      BiPredicate<DataType, DataType> types) {
    if (here instanceof StructType struct && there instanceof StructType other) {
      return Arrays.stream(struct.fields())
          .allMatch(
              field ->
                  named(other, field.name())
                      .filter(found -> fields.test(field, found))
                      .filter(
                          found -> isSubsetOf(field.dataType(), found.dataType(), fields, types))
                      .isPresent());
    }
    if (here instanceof ArrayType array && there instanceof ArrayType other) {
      return types.test(here, there)
          && isSubsetOf(array.elementType(), other.elementType(), fields, types);
    }
    if (here instanceof MapType map && there instanceof MapType other) {
      return types.test(here, there)
          && isSubsetOf(map.keyType(), other.keyType(), fields, types)
          && isSubsetOf(map.valueType(), other.valueType(), fields, types);
    }
    return types.test(here, there);
  }

  /** Whether a type takes all values of another, which has the same inner types. */
  private static boolean holds(DataType here, DataType there) {
    if (here instanceof ArrayType array && there instanceof ArrayType other) {
      return array.containsNull() || !other.containsNull();
    }
    if (here instanceof MapType map && there instanceof MapType other) {
      return map.valueContainsNull() || !other.valueContainsNull();
    }
    return here instanceof NullType || here.equals(there);
  }

  private static Optional<StructField> named(StructType struct, String name) {
    scala.Option<Object> index = struct.getFieldIndex(name);
    return index.isEmpty() ? Optional.empty() : Optional.of(struct.fields()[(int) index.get()]);
  }

  private static Object id(StructField field) {
    String key = DeltaColumnMapping$.MODULE$.COLUMN_MAPPING_METADATA_ID_KEY();
    return field.metadata().contains(key) ? field.metadata().getLong(key) : null;
  }
}
