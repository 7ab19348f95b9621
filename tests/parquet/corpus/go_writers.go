// SPDX-License-Identifier: Apache-2.0

// Writes files by parquet-go: go run . ROWS FOLDER
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	pg "github.com/parquet-go/parquet-go"
)

const group = 70 // rows of a row group

// number is a floating point number, which the rows contain as text.
type number string

func (text number) value() float64 {
	found, err := strconv.ParseFloat(string(text), 64)
	check(err)
	return found
}

type read struct {
	Row     int64            `json:"p_row"`
	Text    *string          `json:"p_text"`
	Flag    *bool            `json:"p_flag"`
	Int     *int32           `json:"p_int"`
	Float   *number          `json:"p_float"`
	Double  *number          `json:"p_double"`
	Binary  *string          `json:"p_binary"`
	Date    *int32           `json:"p_date"`
	Time    *int64           `json:"p_time"`
	Decimal *int64           `json:"p_decimal"`
	S       *s               `json:"p_s"`
	List    []number         `json:"p_list"`
	Structs []element        `json:"p_structs"`
	Map     map[string]value `json:"p_map"`
	Last    *string          `json:"p_last"`
}

type s struct {
	X *int32  `json:"p_x" parquet:"p_x,optional"`
	Y *string `json:"p_y" parquet:"p_y,optional"`
}

type element struct {
	U *int32  `json:"p_u" parquet:"p_u,optional"`
	V *string `json:"p_v" parquet:"p_v,optional"`
}

type value struct {
	W *int64  `json:"p_w" parquet:"p_w,optional"`
	Z *string `json:"p_z" parquet:"p_z,optional"`
}

type written struct {
	Row     int64            `parquet:"p_row,delta"`
	Text    *string          `parquet:"p_text,optional,dict"`
	Flag    *bool            `parquet:"p_flag,optional"`
	Int     *int32           `parquet:"p_int,optional"`
	Float   *float32         `parquet:"p_float,optional,split"`
	Double  *float64         `parquet:"p_double,optional"`
	Binary  []byte           `parquet:"p_binary,optional,delta"`
	Date    *int32           `parquet:"p_date,optional,date"`
	Time    *int64           `parquet:"p_time,optional,timestamp(microsecond)"`
	Decimal *int64           `parquet:"p_decimal,optional,decimal(4:18)"`
	S       *s               `parquet:"p_s,optional"`
	List    []float64        `parquet:"p_list,list"`
	Numbers []float64        `parquet:"p_numbers"`
	Structs []element        `parquet:"p_structs,list"`
	Map     map[string]value `parquet:"p_map"`
	Last    *string          `parquet:"p_last,optional"`
}

func convert(line []byte) written {
	var row read
	check(json.Unmarshal(line, &row))
	made := written{Row: row.Row, Text: row.Text, Flag: row.Flag, Int: row.Int, Date: row.Date, Time: row.Time,
		Decimal: row.Decimal, S: row.S, Structs: row.Structs, Map: row.Map, Last: row.Last}
	if row.Float != nil {
		float := float32(row.Float.value())
		made.Float = &float
	}
	if row.Double != nil {
		double := row.Double.value()
		made.Double = &double
	}
	if row.Binary != nil {
		made.Binary = []byte(*row.Binary)
	}
	for _, each := range row.List {
		made.List = append(made.List, each.value())
		made.Numbers = append(made.Numbers, each.value())
	}
	return made
}

func parquetGo(rows string, folder string) {
	file, err := os.Open(filepath.Join(rows, "rows.json"))
	check(err)
	var all []written
	for lines := bufio.NewScanner(file); lines.Scan(); {
		all = append(all, convert(lines.Bytes()))
	}
	filters := pg.BloomFilters(pg.SplitBlockFilter(10, "p_text"), pg.SplitBlockFilter(10, "p_row"))
	variants := map[string][]pg.WriterOption{
		"v2 snappy groups filters": {pg.Compression(&pg.Snappy), pg.MaxRowsPerRowGroup(group), pg.PageBufferSize(200), filters},
		"v1 zstd":                  {pg.Compression(&pg.Zstd), pg.DataPageVersion(1), pg.DataPageStatistics(true)},
		"gzip":                     {pg.Compression(&pg.Gzip)},
		"brotli":                   {pg.Compression(&pg.Brotli)},
		"lz4":                      {pg.Compression(&pg.Lz4Raw)},
		"uncompressed":             {pg.SortingWriterConfig(pg.SortingColumns(pg.Ascending("p_row")))},
	}
	for name, options := range variants {
		write(filepath.Join(folder, name+".parquet"), all, options)
	}
	write(filepath.Join(folder, "empty.parquet"), nil, nil)
}

func write(path string, rows []written, options []pg.WriterOption) {
	file, err := os.Create(path)
	check(err)
	writer := pg.NewGenericWriter[written](file, options...)
	_, err = writer.Write(rows)
	check(err)
	check(writer.Close())
	check(file.Close())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	parquetGo(os.Args[1], os.Args[2])
}
