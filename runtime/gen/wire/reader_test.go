package wire_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

// The cases are values of a field of features.Everything or
// features.Collections, by its name.

func TestAReaderReadsThePlainForm(t *testing.T) {
	requireEach(t, true, map[string][]string{
		"a_string":   {`""`, `"text"`, `"é 日本 😀"`, `"\" \\ \/ \b \f \n \r \t"`, `"\u003c\u2028\uFFFD\u0000"`, "\"\x7f\""},
		"a_bool":     {`true`, `false`},
		"an_int":     {`0`, `-0`, `-1`, `2147483647`, `-2147483648`},
		"an_int64":   {`9223372036854775807`, `-9223372036854775808`},
		"an_int32":   {`2147483647`, `-2147483648`},
		"a_uint64":   {`18446744073709551615`, `9999999999999999999`},
		"a_float64":  {`0`, `-0`, `1.5`, `1e3`, `1E+3`, `-1.25e-3`, `5e-324`, `123456789012345678901234567890`},
		"some_bytes": {`null`, `""`, `"AP8="`},
		"a_time":     {`"2026-03-14T15:09:26.535897Z"`, `"2026-03-14T15:09:26-01:30"`},
		"a_date":     {`"2024-02-29"`},
		"a_duration": {`"1h30m0s"`, `"1.5µs"`},
		"a_uuid":     {`"0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f"`, `"0198C5F2-7B1E-7C3A-9D4F-2A6B8C0D1E2F"`},
		"some_json":  {`null`, `1`, `-1.5e+3`, `"]\"}"`, `{}`, `[ 1, {"a" : [] } ]`, strings.Repeat("[", 999) + strings.Repeat("]", 999)},
		"an_enum":    {`"red"`, `"dark-green"`, `"of another version"`, `"re\u0064"`},
		"a_struct":   {`{}`, `{"x":1}`, `{"y":1}`, `{"x":1,"y":2}`},

		"strings":       {`null`, `[]`, `["a"]`, `["a","b"]`},
		"matrix":        {`[null,[],[1,2]]`},
		"ints_by_name":  {`null`, `{}`, `{"a":1}`, `{"b":1,"a":2}`, `{"\u0061":1,"b":2,"a":3}`, `{"":1}`},
		"maps":          {`[{"a":1},{},null]`},
		"points":        {`[{"x":1,"y":2},{}]`},
		"documents":     {`[null,1,[]]`},
		"lists_by_name": {`{"a":["x"],"a":null}`},
	})
}

func TestAReaderGivesUpAtAnythingElse(t *testing.T) {
	requireEach(t, false, map[string][]string{
		"a_string":   {`null`, `1`, `text`, `"`, `"\"`, `"\x41"`, `"\ud83d\ude00"`, `"\ud800"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"\x1f\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xe2\x80", ` ""`, `"" `},
		"a_bool":     {`null`, `1`, `True`, `truE`, `tru`, `"true"`},
		"an_int":     {`null`, `""`, `-`, `+1`, `01`, `-01`, `1.0`, `1e3`, `9223372036854775808`, `-9223372036854775809`, `1 `, `0x1`, `99999999999999999999`},
		"an_int32":   {`2147483648`, `-2147483649`},
		"a_uint64":   {`-0`, `-1`, `18446744073709551616`, `00`},
		"a_float64":  {`null`, `.5`, `1.`, `1e`, `1e+`, `01.5`, `1e400`, `NaN`, `Infinity`, `-`, `1_0`, `0x1p3`},
		"some_bytes": {`"AP8"`, `"A"`, `[0,255]`, `"\u0041P8="`, `"*P8="`},
		"a_time":     {`null`, `""`, `"2026-03-14"`, `"2026-03-14T24:00:00Z"`, `"2026-03-14T15:09:26+25:00"`, `"2026\u002d03-14T15:09:26Z"`},
		"a_date":     {`null`, `"2023-02-29"`, `"24-02-29"`},
		"a_duration": {`null`, `1`, `"1"`, `""`},
		"a_uuid":     {`null`, `""`, `"0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2g"`},
		"some_json":  {``, `,`, `]`, `[`, `[}`, `{]`, `nul`, `01`, `"`, `[1,]`, ` 1`, `1 `, `{"a"}`, strings.Repeat("[", 1000) + strings.Repeat("]", 1000)},
		"an_enum":    {`null`, `red`, `["red"]`, `"\ud800"`},
		"a_struct": {`null`, `[]`, `{`, `{}}`, `{ }`, `{"x": 1}`, `{"x":1,}`, `{,"x":1}`, `{"x":1 }`, `{"y":1,"x":2}`, `{"x":1,"x":2}`, `{"X":1}`,
			`{"x":1,"z":2}`, `{"xx":1}`, `{"\u0078":1}`, `{"x"}`, `{"x":}`, `{"xx:1}`, `{"x"=1}`, `{"x":1;"y":2}`, `{"x":1"y":2}`},

		"strings":      {`[`, `["a"`, `["a",]`, `[,"a"]`, `["a" ,"b"]`, `["a""b"]`, `["a";"b"]`, `[null]`, `["a"}`, `{}`, `""`},
		"ints_by_name": {`{`, `{"a"`, `{"a":1`, `{"a":1,}`, `{a:1}`, `{"a":null}`, `{"a" :1}`, `{"a"1}`, `{"a"=1}`, `[]`, "{\"\xff\":1}"},
	})
}

// requireEach reads each value as the field of that name, and checks whether
// the reader gives up; and if not, that encoding/json reads the same.
func requireEach(t *testing.T, want bool, fields map[string][]string) {
	t.Helper()
	for field, values := range fields {
		for _, value := range values {
			data := []byte(`{"` + field + `":` + value + `}`)
			if got := requireSameValue[everything](t, data) || requireSameValue[features.Collections](t, data); got != want {
				t.Errorf("%.80s: the reader has read it: %v, want %v", data, got, want)
			}
		}
	}
}

func TestAReaderReadsNoMoreAndNoLessThanOneValue(t *testing.T) {
	tests := map[string]bool{
		`{}`: true, `{"x":1}`: true,
		``: false, ` {}`: false, `{} `: false, "{}\n": false, `{}{}`: false, `{"x":1`: false, `{"x":1}}`: false, `null`: false, `[]`: false, "\ufeff{}": false,
	}
	for data, want := range tests {
		if got := requireSameValue[features.Point](t, []byte(data)); got != want {
			t.Errorf("%q: the reader has read it: %v, want %v", data, got, want)
		}
	}
}

func TestAReaderGivesUpAtItsMaximalDepth(t *testing.T) {
	nested := func(depth int) []byte {
		return []byte(strings.Repeat(`{"parent":`, depth-1) + `{}` + strings.Repeat(`}`, depth-1))
	}
	for depth, want := range map[int]bool{1000: true, 1001: false, 20_000: false} {
		if got := requireSameValue[features.Tree](t, nested(depth)); got != want {
			t.Errorf("a tree of %d levels was read: %v, want %v", depth, got, want)
		}
	}
}

func TestAReaderGivesUpAtATextWithEscapes(t *testing.T) {
	for data, want := range map[string]bool{`"1.5µs"`: true, `"1h\u0033m"`: false} {
		r := wire.NewReader([]byte(data))
		if text := r.Text(); r.Finish() != want {
			t.Errorf("%s: it has read %s: %v, want %v", data, text, !want, want)
		}
	}
}

// Depth is not length.
func TestAReaderReadsManyValuesBesideEachOther(t *testing.T) {
	many := func(value string) string { return "[" + strings.Repeat(value+",", 2000) + value + "]" }
	for field, value := range map[string]string{"points": `{"x":1}`, "matrix": `[]`, "maps": `{}`, "documents": `[{}]`} {
		if data := `{"` + field + `":` + many(value) + `}`; !requireSameValue[features.Collections](t, []byte(data)) {
			t.Errorf("%s: the reader has given up", field)
		}
	}
}

func TestAReaderReadsNullAsAnOptionalFieldThatIsAbsent(t *testing.T) {
	fields := reflect.TypeFor[optional]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if !requireSameValue[optional](t, []byte(`{"`+name+`":null}`)) {
			t.Errorf("%s: the reader has given up", name)
		}
	}
}

// A reader in the hands of other code than the generated may be asked for
// anything at any time.
func TestAReaderThatHasGivenUpReadsNothing(t *testing.T) {
	for _, data := range []string{``, `x`, `[`, `{`, `{"key":1}`, `"`} {
		r := wire.NewReader([]byte(data))
		r.Check(errors.New("boom"))
		if r.Key("key") || r.Bool() || r.Int() != 0 || r.Int32() != 0 || r.Uint64() != 0 || r.Float64() != 0 || r.String() != "" ||
			len(r.Text()) != 0 || len(r.Bytes()) != 0 || !r.Time().IsZero() || r.UUID() != uuid.Nil || r.JSON() != nil {
			t.Errorf("%q: something was read", data)
		}
		r.BeginObject()
		r.EndObject()
		if list := wire.ReadList(r, r.Int); len(list) != 0 {
			t.Errorf("%q: a list of %d", data, len(list))
		}
		if m := wire.ReadMap(r, r.Int); len(m) != 0 {
			t.Errorf("%q: a map of %d", data, len(m))
		}
		if r.Finish() {
			t.Errorf("%q: it has not given up", data)
		}
	}
}
