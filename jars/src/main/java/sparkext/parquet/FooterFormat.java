// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The structures of footers, page indexes and bloom filters in the published format of Parquet. The
 * classes of Spark's Parquet lack the fields of later formats, which a copy would lose.
 *
 * <p>Source: Parquet, parquet.thrift of 2026-08.
 */
final class FooterFormat {
  /** The types of Thrift's compact protocol. A list of booleans is in no structure here. */
  static final int TRUE = 1;

  static final int FALSE = 2;
  static final int I8 = 3;
  static final int I16 = 4;
  static final int I32 = 5;
  static final int I64 = 6;
  static final int DOUBLE = 7;
  static final int BINARY = 8;
  static final int LIST = 9;
  static final int SET = 10;
  static final int MAP = 11;
  static final int STRUCT = 12;

  /**
   * A field of a structure.
   *
   * @param type of the compact protocol; {@link #TRUE} for a boolean
   * @param element of a list; null for others
   * @param structure of a struct; null for others
   */
  record Field(int type, Field element, Structure structure, boolean isRequired) {
    boolean hasType(int written) {
      return written == type || type == TRUE && written == FALSE;
    }
  }

  /**
   * A structure.
   *
   * @param fields by id, with null for an id without a field
   * @param isUnion whether it has exactly one of the fields
   */
  record Structure(String name, List<Field> fields, boolean isUnion) {
    /** Returns the field with an id; null if the structure has no such field. */
    Field field(int id) {
      return id >= 0 && id < fields.size() ? fields.get(id) : null;
    }
  }

  private static final Map<String, Integer> TYPES =
      Map.of(
          "bool", TRUE, "i8", I8, "i16", I16, "i32", I32, "i64", I64, "double", DOUBLE, "binary",
          BINARY);

  /**
   * The fields of each structure from id 1 on: "!" follows a required one, "-" is an unused id, and
   * "|" follows the name of a union.
   */
  private static final Map<String, Structure> STRUCTURES =
      parsed(
          """
          Empty
          DecimalType i32! i32!
          TimeUnit| Empty Empty Empty
          TimeType bool! TimeUnit!
          IntType i8! bool!
          VariantType i8
          GeometryType binary
          GeographyType binary i32
          LogicalType| Empty Empty Empty Empty DecimalType Empty TimeType TimeType - IntType Empty \
          Empty Empty Empty Empty VariantType GeometryType GeographyType Empty
          SchemaElement i32 i32 i32 binary! i32 i32 i32 i32 i32 LogicalType
          KeyValue binary! binary
          Statistics binary binary i64 i64 binary binary bool bool i64
          PageEncodingStats i32! i32! i32!
          SizeStatistics i64 [i64] [i64]
          BoundingBox double! double! double! double! double double double double
          GeospatialStatistics BoundingBox [i32]
          ColumnMetaData i32! [i32]! [binary]! i32! i64! i64! i64! [KeyValue] i64! i64 i64 \
          Statistics [PageEncodingStats] i64 i32 SizeStatistics GeospatialStatistics
          ColumnKey [binary]! binary
          ColumnCryptoMetaData| Empty ColumnKey
          ColumnChunk binary i64! ColumnMetaData i64 i32 i64 i32 ColumnCryptoMetaData binary
          SortingColumn i32! bool! bool!
          RowGroup [ColumnChunk]! i64! i64! [SortingColumn] i64 i64 i16
          ColumnOrder| Empty Empty Empty
          Aes binary binary bool
          EncryptionAlgorithm| Aes Aes
          FileMetaData i32! [SchemaElement]! i64! [RowGroup]! [KeyValue] binary [ColumnOrder] \
          EncryptionAlgorithm binary
          PageLocation i64! i32! i64!
          OffsetIndex [PageLocation]! [i64]
          OneMember| Empty
          BloomFilterHeader i32! OneMember! OneMember! OneMember!
          """);

  static final Structure FILE = STRUCTURES.get("FileMetaData");
  static final Structure OFFSET_INDEX = STRUCTURES.get("OffsetIndex");
  static final Structure BLOOM_FILTER_HEADER = STRUCTURES.get("BloomFilterHeader");

  // FileMetaData
  static final int SCHEMA = 2;
  static final int ROW_GROUPS = 4;
  static final int KEY_VALUES = 5;
  static final int CREATED_BY = 6;
  static final int COLUMN_ORDERS = 7;
  static final int ENCRYPTION = 8;
  static final int SIGNING_KEY = 9;
  // KeyValue
  static final int KEY = 1;
  static final int VALUE = 2;
  // SchemaElement
  static final int TYPE = 1;
  static final int REPETITION = 3;
  static final int NAME = 4;
  static final int CHILDREN = 5;
  static final int CONVERTED_TYPE = 6;
  static final int FIELD_ID = 9;
  static final int LOGICAL_TYPE = 10;
  // RowGroup
  static final int COLUMNS = 1;
  static final int GROUP_SIZE = 2;
  static final int SORTING = 4;
  static final int GROUP_OFFSET = 5;
  static final int GROUP_COMPRESSED = 6;
  static final int SORTED_COLUMN = 1; // of SortingColumn
  // ColumnChunk
  static final int FILE_PATH = 1;
  static final int FILE_OFFSET = 2;
  static final int METADATA = 3;
  static final int OFFSET_INDEX_OFFSET = 4;
  static final int OFFSET_INDEX_LENGTH = 5;
  static final int COLUMN_INDEX_OFFSET = 6;
  static final int COLUMN_INDEX_LENGTH = 7;
  static final int CRYPTO = 8;
  static final int ENCRYPTED_METADATA = 9;
  // ColumnMetaData
  static final int PATH = 3;
  static final int UNCOMPRESSED = 6;
  static final int COMPRESSED = 7;
  static final int COLUMN_KEY_VALUES = 8;
  static final int DATA_PAGE = 9;
  static final int INDEX_PAGE = 10;
  static final int DICTIONARY_PAGE = 11;
  static final int BLOOM_FILTER = 14;
  static final int BLOOM_FILTER_LENGTH = 15;
  // OffsetIndex, PageLocation and BloomFilterHeader
  static final int LOCATIONS = 1;
  static final int PAGE_OFFSET = 1;
  static final int PAGE_SIZE = 2;
  static final int FILTER_SIZE = 1;

  private FooterFormat() {}

  private static Map<String, Structure> parsed(String text) {
    Map<String, Structure> structures = new HashMap<>();
    for (String line : text.lines().toList()) {
      List<Field> fields = new ArrayList<>();
      for (String word : line.split(" ")) {
        fields.add(fields.isEmpty() || word.equals("-") ? null : field(word, structures));
      }
      String head = line.split(" ")[0];
      String name = head.replace("|", "");
      structures.put(name, new Structure(name, fields, /* isUnion= */ !head.equals(name)));
    }
    return structures;
  }

  private static Field field(String word, Map<String, Structure> structures) {
    if (word.endsWith("!")) {
      Field field = field(word.substring(0, word.length() - 1), structures);
      return new Field(field.type, field.element, field.structure, /* isRequired= */ true);
    }
    if (word.startsWith("[")) {
      Field element = field(word.substring(1, word.length() - 1), structures);
      return new Field(LIST, element, null, /* isRequired= */ false);
    }
    Structure structure = structures.get(word);
    int type = structure == null ? TYPES.get(word) : STRUCT;
    return new Field(type, null, structure, /* isRequired= */ false);
  }
}
