package wire_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

func TestWritingAllocatesNothing(t *testing.T) {
	day := runtime.Date{Year: 2024, Month: 2, Day: 29}
	value := added{
		Everything:  everything{AString: "é < \"", AFloat64: 1e-9, SomeBytes: []byte{1}, ATime: time.Unix(1, 2).UTC(), ADate: day, ADuration: 1500},
		Optional:    optional{ADate: &day, AMap: map[string]features.Point{"a": {}, "b": {}}},
		Collections: features.Collections{Strings: []string{"a"}, Matrix: [][]float64{{1}, {2}}, Dates: []runtime.Date{day}},
	}
	var w wire.Writer // which is never finished: its memory doubles now and then
	allocations := testing.AllocsPerRun(1000, func() { writeTo(&w, &value) })
	if _, ok := w.Finish(); !ok {
		t.Fatal("the writer has given up")
	}
	if allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestReadingAllocatesOnlyWhatIsRead(t *testing.T) {
	requireAllocations[everything](t, 2, // the reader and the text
		`{"a_string":"a longer text","an_int":-12345,"a_float64":1.5e-9,"a_time":"2026-03-14T15:09:26.535897Z",`+
			`"a_uuid":"0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f","an_enum":"dark-green","a_struct":{"x":1,"y":2}}`)
	requireAllocations[features.Collections](t, 3, // the reader, the list, and when it grows
		`{"points":[{"x":1,"y":2},{"x":3,"y":4}]}`)
}

func requireAllocations[T any](t *testing.T, most float64, data string) {
	t.Helper()
	text, value := []byte(data), new(T)
	allocations := testing.AllocsPerRun(100, func() {
		r := wire.NewReader(text)
		readFrom(r, value)
		if !r.Finish() {
			t.Fatal("the reader has given up")
		}
	})
	if allocations > most {
		t.Errorf("%v allocations, want %v: %s", allocations, most, data)
	}
}

func TestTextsOfSeveralValuesShareMemoryAndNotTheirBytes(t *testing.T) {
	codec := wire.NewCodec[features.Collections]()
	long := strings.Repeat("x", 65)
	datas := []string{
		`{"strings":["one","","tw\u006f","thrée"]}`,
		`{"strings":["` + long + `","four"]}`,
		`{"strings":["` + long[:64] + `"]}`,
		`{"strings":[""]}`,
	}
	wants := [][]string{{"one", "", "two", "thrée"}, {long, "four"}, {long[:64]}, {""}}
	var all [][]string
	for i := range 100 {
		data := []byte(datas[i%len(datas)])
		value, err := codec.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		clear(data) // who has given it may use it again
		all = append(all, value.Strings)
	}
	for i, got := range all {
		if want := wants[i%len(wants)]; !slices.Equal(got, want) {
			t.Fatalf("value %d is %.100q, want %.100q", i, got, want)
		}
	}
	data := []byte(`{"strings":["one","two","three","four"]}`)
	if n := testing.AllocsPerRun(1000, func() { codec.Decode(data) }); n > 3 { // the list, which grows twice
		t.Errorf("a list of four short texts makes %v allocations", n)
	}
}
