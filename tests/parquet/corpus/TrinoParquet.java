// SPDX-License-Identifier: Apache-2.0

import static io.trino.spi.type.TimeZoneKey.UTC_KEY;
import static org.apache.parquet.format.CompressionCodec.GZIP;
import static org.apache.parquet.format.CompressionCodec.SNAPPY;
import static org.apache.parquet.format.CompressionCodec.UNCOMPRESSED;
import static org.apache.parquet.format.CompressionCodec.ZSTD;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.airlift.slice.Slices;
import io.airlift.units.DataSize;
import io.trino.parquet.writer.ParquetSchemaConverter;
import io.trino.parquet.writer.ParquetWriter;
import io.trino.parquet.writer.ParquetWriterOptions;
import io.trino.spi.PageBuilder;
import io.trino.spi.block.BlockBuilder;
import io.trino.spi.type.*;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.parquet.format.CompressionCodec;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.joda.time.DateTimeZone;

/** Writes files by Trino's trino-parquet: java TrinoParquet.java ROWS FOLDER. */
final class TrinoParquet {
  private static final String ROWS =
      """
      message rows {
        required int64 p_row;
        optional binary p_text (STRING);
        optional boolean p_flag;
        optional int32 p_int;
        optional float p_float;
        optional double p_double;
        optional binary p_binary;
        optional int32 p_date (DATE);
        optional int64 p_time (TIMESTAMP(MICROS,true));
        optional int64 p_decimal (DECIMAL(18,4));
        optional group p_s { optional int32 p_x; optional binary p_y (STRING); }
        optional group p_list (LIST) { repeated group list { optional double element; } }
        optional group p_lists (LIST) { repeated group list {
          optional group element (LIST) { repeated group list { optional int32 element; } } } }
        optional group p_structs (LIST) { repeated group list {
          optional group element { optional int32 p_u; optional binary p_v (STRING); } } }
        optional group p_map (MAP) { repeated group key_value {
          required binary key (STRING);
          optional group value { optional int64 p_w; optional binary p_z (STRING); } } }
        optional binary p_last (STRING);
      }
      """;

  // Trino has no unsigned integers and no halves.
  private static final String OTHERS =
      """
      message others {
        required int64 p_row;
        optional int32 p_int8 (INTEGER(8,true));
        optional int32 p_int16 (INTEGER(16,true));
        optional int64 p_local (TIMESTAMP(MICROS,false));
        optional int64 p_milli (TIMESTAMP(MILLIS,true));
        optional int64 p_clock (TIME(MICROS,false));
        optional int32 p_small (DECIMAL(9,2));
        optional fixed_len_byte_array(16) p_large (DECIMAL(38,10));
        optional fixed_len_byte_array(16) p_fixed (UUID);
        optional binary p_last (STRING);
      }
      """;

  private TrinoParquet() {}

  public static void main(String[] arguments) throws IOException {
    List<JsonNode> rows = lines(Path.of(arguments[0], "rows.json"));
    Path folder = Path.of(arguments[1]);
    MessageType schema = MessageTypeParser.parseMessageType(ROWS);
    ParquetWriterOptions whole = ParquetWriterOptions.builder().build();
    ParquetWriterOptions small =
        ParquetWriterOptions.builder()
            .setMaxBlockSize(DataSize.ofBytes(3000))
            .setMaxPageSize(DataSize.ofBytes(200))
            .setBatchSize(20)
            .build();
    write(folder.resolve("snappy groups.parquet"), schema, rows, SNAPPY, small);
    write(folder.resolve("zstd.parquet"), schema, rows, ZSTD, whole);
    write(folder.resolve("gzip.parquet"), schema, rows, GZIP, whole);
    write(folder.resolve("uncompressed.parquet"), schema, rows, UNCOMPRESSED, whole);
    List<org.apache.parquet.schema.Type> withIds = new ArrayList<>();
    schema.getFields().forEach(column -> withIds.add(column.withId(withIds.size() + 1)));
    MessageType schemaWithIds = new MessageType("rows", withIds);
    write(folder.resolve("field ids.parquet"), schemaWithIds, rows, SNAPPY, whole);
    write(folder.resolve("Hive types.parquet"), ofHive(), rows, SNAPPY, whole);
    write(folder.resolve("empty.parquet"), schema, List.of(), SNAPPY, whole);
    List<JsonNode> others = lines(Path.of(arguments[0], "others.json"));
    MessageType otherTypes = MessageTypeParser.parseMessageType(OTHERS);
    write(folder.resolve("other types.parquet"), otherTypes, others, ZSTD, small);
  }

  private static List<JsonNode> lines(Path file) throws IOException {
    List<JsonNode> found = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      found.add(new ObjectMapper().readTree(line));
    }
    return found;
  }

  /** Returns the schema of a table of Hive, with times as INT96 and decimals as fixed lengths. */
  private static MessageType ofHive() {
    String local = ROWS.replace("MICROS,true", "MICROS,false");
    RowType rows = (RowType) type(MessageTypeParser.parseMessageType(local));
    List<String> names = rows.getFields().stream().map(each -> each.getName().get()).toList();
    return new ParquetSchemaConverter(rows.getTypeParameters(), names, true, true).getMessageType();
  }

  private static void write(
      Path file,
      MessageType schema,
      List<JsonNode> rows,
      CompressionCodec codec,
      ParquetWriterOptions options)
      throws IOException {
    Map<List<String>, Type> primitives = new HashMap<>();
    schema.getColumns().forEach(
        column -> primitives.put(List.of(column.getPath()), type(column.getPrimitiveType())));
    List<Type> types = type(schema).getTypeParameters();
    String version = ParquetWriter.class.getPackage().getImplementationVersion();
    try (ParquetWriter writer =
        new ParquetWriter(
            Files.newOutputStream(file), schema, primitives, options, codec, version,
            false, Optional.of(DateTimeZone.UTC), Optional.empty())) {
      PageBuilder page = new PageBuilder(types);
      for (JsonNode row : rows) {
        page.declarePosition();
        for (int i = 0; i < types.size(); i++) {
          append(page.getBlockBuilder(i), types.get(i), row.get(schema.getFieldName(i)));
        }
      }
      writer.write(page.build());
    }
  }

  /** Returns Trino's type of a column of a Parquet schema. */
  private static Type type(org.apache.parquet.schema.Type column) {
    Object kind = column.getLogicalTypeAnnotation();
    if (kind instanceof DecimalLogicalTypeAnnotation decimal) {
      return DecimalType.createDecimalType(decimal.getPrecision(), decimal.getScale());
    }
    if (!column.isPrimitive()) {
      GroupType group = column.asGroupType();
      List<RowType.Field> fields = new ArrayList<>();
      group.getFields().forEach(each -> fields.add(RowType.field(each.getName(), type(each))));
      List<Type> inner = fields.get(0).getType().getTypeParameters();
      return switch (String.valueOf(kind)) {
        case "LIST" -> new ArrayType(inner.get(0));
        case "MAP" -> new MapType(inner.get(0), inner.get(1), new TypeOperators());
        default -> RowType.from(fields);
      };
    }
    return switch (column.asPrimitiveType().getPrimitiveTypeName() + " " + kind) {
      case "BOOLEAN null" -> BooleanType.BOOLEAN;
      case "INT32 null" -> IntegerType.INTEGER;
      case "INT32 INTEGER(8,true)" -> TinyintType.TINYINT;
      case "INT32 INTEGER(16,true)" -> SmallintType.SMALLINT;
      case "INT32 DATE" -> DateType.DATE;
      case "INT64 null" -> BigintType.BIGINT;
      case "INT64 TIME(MICROS,false)" -> TimeType.TIME_MICROS;
      case "INT64 TIMESTAMP(MICROS,false)", "INT96 null" -> TimestampType.TIMESTAMP_MICROS;
      case "INT64 TIMESTAMP(MICROS,true)" -> TimestampWithTimeZoneType.TIMESTAMP_TZ_MICROS;
      case "INT64 TIMESTAMP(MILLIS,true)" -> TimestampWithTimeZoneType.TIMESTAMP_TZ_MILLIS;
      case "FLOAT null" -> RealType.REAL;
      case "DOUBLE null" -> DoubleType.DOUBLE;
      case "BINARY null" -> VarbinaryType.VARBINARY;
      case "BINARY STRING" -> VarcharType.VARCHAR;
      case "FIXED_LEN_BYTE_ARRAY UUID" -> UuidType.UUID;
      default -> throw new IllegalArgumentException(column.toString());
    };
  }

  private static void append(BlockBuilder builder, Type type, JsonNode json) {
    if (json == null || json.isNull()) {
      builder.appendNull();
    } else if (type.getTypeParameters().isEmpty()) {
      TypeUtils.writeNativeValue(type, builder, value(type, json));
    } else {
      BlockBuilder entry = builder.beginBlockEntry();
      if (type instanceof ArrayType array) {
        json.forEach(element -> append(entry, array.getElementType(), element));
      } else if (type instanceof MapType map) {
        json.fields().forEachRemaining(
            each -> {
              map.getKeyType().writeSlice(entry, Slices.utf8Slice(each.getKey()));
              append(entry, map.getValueType(), each.getValue());
            });
      } else {
        ((RowType) type).getFields().forEach(
            field -> append(entry, field.getType(), json.get(field.getName().get())));
      }
      builder.closeEntry();
    }
  }

  private static Object value(Type type, JsonNode json) {
    Class<?> java = type.getJavaType();
    if (type == TimeType.TIME_MICROS) {
      return json.asLong() * 1_000_000; // picoseconds
    } else if (type == TimestampWithTimeZoneType.TIMESTAMP_TZ_MILLIS) {
      return DateTimeEncoding.packDateTimeWithZone(json.asLong() / 1000, UTC_KEY);
    } else if (type == TimestampWithTimeZoneType.TIMESTAMP_TZ_MICROS) {
      long micros = json.asLong();
      int picos = (int) (micros % 1000) * 1_000_000;
      return LongTimestampWithTimeZone.fromEpochMillisAndFraction(micros / 1000, picos, UTC_KEY);
    } else if (type == RealType.REAL) {
      return (long) Float.floatToIntBits(Float.parseFloat(json.asText()));
    } else if (java == double.class) {
      return Double.parseDouble(json.asText());
    } else if (java == boolean.class) {
      return json.asBoolean();
    } else if (java == long.class) {
      return json.asLong();
    }
    return java == Int128.class
        ? Int128.valueOf(json.bigIntegerValue())
        : Slices.utf8Slice(json.asText());
  }
}
