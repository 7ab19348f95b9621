// SPDX-License-Identifier: Apache-2.0
// Writers for Node.js: node node_writers.mjs WRITER ROWS FOLDER
import { readFileSync, writeFileSync } from 'node:fs'

const [writer, rows, folder] = process.argv.slice(2)
const lines = readFileSync(`${rows}/rows.json`, 'utf8').trim().split('\n').map(text => JSON.parse(text))
const GROUP = 70

/** Returns the values of a column. A function converts values other than null. */
function column(name, convert = value => value) {
  return lines.map(row => row[name] === null ? null : convert(row[name]))
}

async function hyparquet_writer() {
  const { parquetWriteBuffer, schemaFromColumnData } = await import('hyparquet-writer')
  const { gzipSync } = await import('node:zlib')
  const bytes = text => new TextEncoder().encode(text)
  const plain = [
    { name: 'p_row', data: column('p_row', BigInt), type: 'INT64' },
    { name: 'p_text', data: column('p_text'), type: 'STRING' },
    { name: 'p_flag', data: column('p_flag'), type: 'BOOLEAN' },
    { name: 'p_int', data: column('p_int'), type: 'INT32' },
    { name: 'p_float', data: column('p_float', Number), type: 'FLOAT' },
    { name: 'p_double', data: column('p_double', Number), type: 'DOUBLE' },
    { name: 'p_binary', data: column('p_binary', bytes), type: 'BYTE_ARRAY' },
    { name: 'p_time', data: column('p_time', micros => new Date(micros / 1000)), type: 'TIMESTAMP' },
    { name: 'p_last', data: column('p_last'), type: 'STRING' },
  ]
  const indexes = { columnIndex: true, offsetIndex: true, bloomFilter: true }
  const nested = { p_list: column('p_list', list => list.map(Number)), p_s: column('p_s') }
  const list = [
    { name: 'p_list', num_children: 1, converted_type: 'LIST', repetition_type: 'OPTIONAL' },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    { name: 'element', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
  ]
  const s = [
    { name: 'p_s', num_children: 2, repetition_type: 'OPTIONAL' },
    { name: 'p_x', type: 'INT32', repetition_type: 'OPTIONAL' },
    { name: 'p_y', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  ]
  const [root, ...elements] = schemaFromColumnData({ columnData: plain })
  const variants = {
    'snappy indexes filters': { columnData: plain.map(each => ({ ...each, ...indexes })), rowGroupSize: GROUP, pageSize: 200 },
    'defaults': { columnData: plain },
    'nested': {
      columnData: [...plain.map(({ name, data }) => ({ name, data })), { name: 'p_list', data: nested.p_list }, { name: 'p_s', data: nested.p_s }],
      schema: [{ ...root, num_children: root.num_children + 2 }, ...elements, ...list, ...s],
    },
    'encodings': {
      codec: 'UNCOMPRESSED',
      columnData: plain.map(each => ({ ...each, encoding: { p_row: 'DELTA_BINARY_PACKED', p_double: 'BYTE_STREAM_SPLIT', p_text: 'DELTA_BYTE_ARRAY', p_binary: 'DELTA_LENGTH_BYTE_ARRAY' }[each.name] })),
    },
    'gzip': { codec: 'GZIP', compressors: { GZIP: gzipSync }, columnData: plain, statistics: false },
    'variant and half': {
      columnData: [
        ...plain,
        { name: 'p_variant', data: column('p_s'), type: 'VARIANT' },
        { name: 'p_half', data: column('p_row', row => row / 2), type: 'FLOAT16' },
      ],
    },
    'geometry': {
      columnData: [
        ...plain,
        { name: 'p_point', data: column('p_row', row => ({ type: 'Point', coordinates: [row, 1] })), type: 'GEOMETRY' },
      ],
    },
    'empty': { columnData: plain.map(each => ({ ...each, data: [] })) },
  }
  for (const [name, options] of Object.entries(variants)) {
    writeFileSync(`${folder}/${name}.parquet`, new Uint8Array(parquetWriteBuffer(options)))
  }
}

async function parquet_wasm() {
  const wasm = await import('parquet-wasm')
  const { Compression, WriterPropertiesBuilder, WriterVersion } = wasm
  const stream = readFileSync(`${rows}/rows.arrow`)
  const build = () => new WriterPropertiesBuilder()
  const variants = {
    'v1 zstd groups': build().setCompression(Compression.ZSTD).setMaxRowGroupSize(GROUP).setDataPageSizeLimit(200).setWriteBatchSize(10),
    'v2 snappy': build().setCompression(Compression.SNAPPY).setWriterVersion(WriterVersion.V2).setDictionaryEnabled(false),
    'gzip': build().setCompression(Compression.GZIP),
    'brotli': build().setCompression(Compression.BROTLI),
    'lz4': build().setCompression(Compression.LZ4_RAW),
    'uncompressed': build().setCompression(Compression.UNCOMPRESSED),
  }
  for (const [name, options] of Object.entries(variants)) {
    const table = wasm.Table.fromIPCStream(stream)
    writeFileSync(`${folder}/${name}.parquet`, wasm.writeParquet(table, options.build()))
  }
}

async function parquetjs() {
  const { ParquetSchema, ParquetWriter } = (await import('@dsnp/parquetjs')).default
  const optional = { optional: true }
  const fields = compression => ({
    p_row: { type: 'INT64', compression },
    p_text: { type: 'UTF8', compression, ...optional },
    p_flag: { type: 'BOOLEAN', compression, ...optional },
    p_int: { type: 'INT32', compression, ...optional },
    p_float: { type: 'FLOAT', compression, ...optional },
    p_double: { type: 'DOUBLE', compression, ...optional },
    p_binary: { type: 'BYTE_ARRAY', compression, ...optional },
    p_time: { type: 'TIMESTAMP_MICROS', compression, ...optional },
    p_s: { ...optional, fields: { p_x: { type: 'INT32', ...optional }, p_y: { type: 'UTF8', ...optional } } },
    p_list: { type: 'LIST', ...optional, fields: { list: { repeated: true, fields: { element: { type: 'DOUBLE', ...optional } } } } },
    p_words: { type: 'UTF8', repeated: true, compression },
    p_last: { type: 'UTF8', compression, ...optional },
  })
  const variants = {
    'v1 snappy groups': [fields('SNAPPY'), { rowGroupSize: GROUP }],
    'v2 gzip': [fields('GZIP'), { useDataPageV2: true }],
    'v1 brotli filters': [fields('BROTLI'), { useDataPageV2: false, bloomFilters: [{ column: 'p_text', numFilterBytes: 1024 }] }],
    'v2 uncompressed indexes': [fields('UNCOMPRESSED'), { useDataPageV2: true, pageIndex: true, pageSize: 50 }],
  }
  for (const [name, [schema, options]] of Object.entries(variants)) {
    const file = await ParquetWriter.openFile(new ParquetSchema(schema), `${folder}/${name}.parquet`, options)
    for (const row of lines) {
      const found = { p_row: row.p_row, p_words: row.p_text === null ? [] : row.p_text.split(' ') }
      for (const field of Object.keys(schema)) {
        if (row[field] !== undefined && row[field] !== null) found[field] = row[field]
      }
      if (found.p_list) found.p_list = { list: found.p_list.map(text => ({ element: Number(text) })) }
      if (found.p_float) found.p_float = Number(found.p_float)
      if (found.p_double) found.p_double = Number(found.p_double)
      if (found.p_binary) found.p_binary = Buffer.from(found.p_binary)
      if (found.p_s && found.p_s.p_y === null) delete found.p_s.p_y
      await file.appendRow(found)
    }
    await file.close()
  }
}

await { hyparquet_writer, parquet_wasm, parquetjs }[writer]()
