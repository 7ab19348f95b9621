// SPDX-License-Identifier: Apache-2.0

import static org.apache.parquet.hadoop.metadata.CompressionCodecName.GZIP;
import static org.apache.parquet.hadoop.metadata.CompressionCodecName.LZ4_RAW;
import static org.apache.parquet.hadoop.metadata.CompressionCodecName.SNAPPY;
import static org.apache.parquet.hadoop.metadata.CompressionCodecName.UNCOMPRESSED;
import static org.apache.parquet.hadoop.metadata.CompressionCodecName.ZSTD;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.parquet.avro.AvroParquetWriter;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.io.LocalOutputFile;

/** Writes files by Hadoop's parquet-avro: java ParquetAvro.java ROWS FOLDER. */
final class ParquetAvro {
  private static final String SCHEMA =
      """
      {"type": "record", "name": "rows", "fields": [
        {"name": "p_row", "type": "long"},
        {"name": "p_text", "type": ["null", "string"]},
        {"name": "p_flag", "type": ["null", "boolean"]},
        {"name": "p_int", "type": ["null", "int"]},
        {"name": "p_float", "type": ["null", "float"]},
        {"name": "p_double", "type": ["null", "double"]},
        {"name": "p_binary", "type": ["null", "bytes"]},
        {"name": "p_date", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "p_time", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "p_decimal", "type": ["null",
          {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 4}]},
        {"name": "p_s", "type": ["null", {"type": "record", "name": "s", "fields": [
          {"name": "p_x", "type": ["null", "int"]}, {"name": "p_y", "type": ["null", "string"]}]}]},
        {"name": "p_list", "type": ["null", {"type": "array", "items": "double"}]},
        {"name": "p_structs", "type": ["null", {"type": "array", "items":
          {"type": "record", "name": "element", "fields": [
            {"name": "p_u", "type": "int"}, {"name": "p_v", "type": ["null", "string"]}]}}]},
        {"name": "p_map", "type": ["null", {"type": "map", "values":
          {"type": "record", "name": "value", "fields": [
            {"name": "p_w", "type": "long"}, {"name": "p_z", "type": ["null", "string"]}]}}]},
        {"name": "p_last", "type": ["null", "string"]}]}
      """;

  private interface Options
      extends UnaryOperator<AvroParquetWriter.Builder<GenericRecord>> {}

  private ParquetAvro() {}

  public static void main(String[] arguments) throws IOException {
    Schema schema = new Schema.Parser().parse(SCHEMA);
    List<GenericRecord> rows = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(arguments[0], "rows.json"))) {
      rows.add((GenericRecord) value(new ObjectMapper().readTree(line), schema));
    }
    Map<String, Options> variants = new HashMap<>();
    variants.put(
        "v1 snappy groups filters",
        options ->
            options
                .withCompressionCodec(SNAPPY)
                .withRowGroupSize(3000L)
                .withMinRowCountForPageSizeCheck(20)
                .withPageRowCountLimit(20)
                .withDictionaryEncoding("p_text", false)
                .withBloomFilterEnabled("p_text", true)
                .withBloomFilterNDV("p_text", 300));
    variants.put(
        "v2 zstd",
        options ->
            options.withCompressionCodec(ZSTD).withWriterVersion(WriterVersion.PARQUET_2_0));
    variants.put(
        "split streams",
        options -> options.withByteStreamSplitEncoding(true).withDictionaryEncoding(false));
    variants.put("gzip", options -> options.withCompressionCodec(GZIP));
    variants.put("lz4", options -> options.withCompressionCodec(LZ4_RAW));
    variants.put(
        "lists of three levels",
        options ->
            options
                .withCompressionCodec(UNCOMPRESSED)
                .config("parquet.avro.write-old-list-structure", "false"));
    for (Map.Entry<String, Options> variant : variants.entrySet()) {
      Path file = Path.of(arguments[1], variant.getKey() + ".parquet");
      write(schema, rows, file, variant.getValue());
    }
    write(schema, List.of(), Path.of(arguments[1], "empty.parquet"), options -> options);
  }

  private static void write(
      Schema schema, List<GenericRecord> rows, Path file, Options options) throws IOException {
    AvroParquetWriter.Builder<GenericRecord> builder =
        AvroParquetWriter.<GenericRecord>builder(new LocalOutputFile(file)).withSchema(schema);
    try (ParquetWriter<GenericRecord> writer = options.apply(builder).build()) {
      for (GenericRecord row : rows) {
        writer.write(row);
      }
    }
  }

  private static Object value(JsonNode json, Schema schema) {
    if (json == null || json.isNull()) {
      return null;
    }
    return switch (schema.getType()) {
      case UNION -> value(json, schema.getTypes().get(1));
      case RECORD -> {
        GenericRecord made = new GenericData.Record(schema);
        schema.getFields().forEach(
            field -> made.put(field.name(), value(json.get(field.name()), field.schema())));
        yield made;
      }
      case ARRAY -> {
        List<Object> made = new ArrayList<>();
        json.forEach(element -> made.add(value(element, schema.getElementType())));
        yield made;
      }
      case MAP -> {
        Map<String, Object> made = new HashMap<>();
        json.fields().forEachRemaining(
            entry -> made.put(entry.getKey(), value(entry.getValue(), schema.getValueType())));
        yield made;
      }
      case BYTES ->
          ByteBuffer.wrap(
              schema.getLogicalType() == null
                  ? json.asText().getBytes(StandardCharsets.UTF_8)
                  : BigInteger.valueOf(json.asLong()).toByteArray());
      case BOOLEAN -> json.asBoolean();
      case INT -> json.asInt();
      case LONG -> json.asLong();
      case FLOAT -> Float.parseFloat(json.asText());
      case DOUBLE -> Double.parseDouble(json.asText());
      default -> json.asText();
    };
  }
}
