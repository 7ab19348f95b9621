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
 * The columns of a version of a table, at every level, with the names or ids by which readers find
 * the columns in data files.
 *
 * <p>Two versions are compared by the columns that a reader of one finds in files of the other.
 * Source: Protocol, "Reader Requirements for Column Mapping".
 */
record ColumnNames(StructType schema, DeltaColumnMappingMode mode) {
  private static final BiPredicate<DataType, DataType> ANY_TYPES = (here, there) -> true;

  static ColumnNames of(Metadata metadata) {
    return new ColumnNames(metadata.schema(), metadata.columnMappingMode());
  }

  /**
   * Returns true if a plan with these columns reads files of the other version correctly: the plan
   * finds each column, of the expected type, and null only if it expects null.
   *
   * <p>Source: Delta 4.4.0, SchemaUtils.scala, {@code isReadCompatible}, which ignores column
   * mapping.
   */
  boolean canReadFilesOf(ColumnNames other) {
    return isFoundById() == other.isFoundById()
        && match(
            other,
            sameNames(other, isFoundById())
                .and((here, there) -> here.nullable() || !there.nullable()),
            ColumnNames::takesValuesOf);
  }

  /** Returns true if the other version has each column, with the same logical and physical name. */
  boolean isSubsetOf(ColumnNames other) {
    return match(other, sameNames(other, /* haveIds= */ false), ANY_TYPES);
  }

  /** Returns the path of each column, with Delta's names for levels of arrays and maps. */
  Set<Seq<String>> paths() {
    return byPath().keySet();
  }

  /**
   * Returns true if both versions have the same columns at these paths. Columns are compared by id,
   * or by name if one version has no column mapping.
   */
  static boolean haveSameColumns(Set<Seq<String>> paths, ColumnNames before, ColumnNames after) {
    boolean haveIds = before.isMapped() && after.isMapped();
    Map<Seq<String>, StructField> then = before.byPath();
    Map<Seq<String>, StructField> now = after.byPath();
    return paths.stream()
        .allMatch(
            path ->
                then.containsKey(path)
                    && now.containsKey(path)
                    && (!haveIds || Objects.equals(id(then.get(path)), id(now.get(path)))));
  }

  /** Returns true if one version has a column of these names that a later version lacks. */
  boolean isAnyDroppedBetween(ColumnNames before, ColumnNames after) {
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

  /**
   * Returns true if the other version has each column with the same type, and if null is a value of
   * each further column. Order, comments, defaults and column mapping may differ.
   */
  boolean isExtendedBy(ColumnNames other) {
    Set<Seq<String>> paths = paths();
    return match(
            other,
            (here, there) -> here.nullable() == there.nullable(),
            (here, there) -> takesValuesOf(here, there) && takesValuesOf(there, here))
        && other.byPath().entrySet().stream()
            .allMatch(column -> paths.contains(column.getKey()) || column.getValue().nullable());
  }

  /**
   * Returns true if the other version, which {@link #isExtendedBy} has compared, has each top-level
   * column without a further nested field.
   */
  boolean lacksOnlyColumnsOf(ColumnNames other) {
    return Arrays.stream(schema.fields())
        .allMatch(
            field ->
                named(other.schema, field.name())
                    .map(there -> there.dataType().catalogString())
                    .filter(field.dataType().catalogString()::equals)
                    .isPresent());
  }

  /** Returns true if readers find each column of this version in files of the other version. */
  boolean hasNamesIn(ColumnNames other) {
    return isFoundById() == other.isFoundById()
        && match(other, sameNames(other, isMapped() && other.isMapped()), ANY_TYPES);
  }

  /** Compares columns by physical name, and by id if both versions have ids. */
  private BiPredicate<StructField, StructField> sameNames(ColumnNames other, boolean haveIds) {
    return (here, there) ->
        physicalName(here).equals(other.physicalName(there))
            && (!haveIds || Objects.equals(id(here), id(there)));
  }

  private boolean isFoundById() {
    return mode.equals(IdMapping$.MODULE$);
  }

  /** Returns true if the other version has columns that this version lacks. */
  boolean lacksColumnsOf(ColumnNames other) {
    return !other.match(this, (here, there) -> true, ANY_TYPES);
  }

  /** Returns true if the physical name of each column equals its logical name. */
  boolean arePhysicalNamesLogical() {
    return match(this, (here, same) -> physicalName(here).equals(here.name()), ANY_TYPES);
  }

  boolean isMapped() {
    return !mode.equals(NoMapping$.MODULE$);
  }

  private String physicalName(StructField field) {
    return isMapped() ? DeltaColumnMapping$.MODULE$.getPhysicalName(field) : field.name();
  }

  /**
   * Returns true if the other version has a field of the same name for each field of this version,
   * and if both fields and their types pass the tests.
   */
  private boolean match(
      ColumnNames other,
      BiPredicate<StructField, StructField> fields,
      BiPredicate<DataType, DataType> types) {
    return match(schema, other.schema, fields, types);
  }

  private static boolean match(
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
                      .filter(found -> match(field.dataType(), found.dataType(), fields, types))
                      .isPresent());
    }
    if (here instanceof ArrayType array && there instanceof ArrayType other) {
      return types.test(here, there)
          && match(array.elementType(), other.elementType(), fields, types);
    }
    if (here instanceof MapType map && there instanceof MapType other) {
      return types.test(here, there)
          && match(map.keyType(), other.keyType(), fields, types)
          && match(map.valueType(), other.valueType(), fields, types);
    }
    return types.test(here, there);
  }

  /** Returns true if a type takes all values of another type with the same nested types. */
  private static boolean takesValuesOf(DataType here, DataType there) {
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
