package wire_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

// These hold generated methods, for every type of the catalogue language,
// against encoding/json.

type (
	everything = features.Everything
	optional   = features.Optional
	added      = features.OrderLineAdded   // which has both of them, and collections
	removed    = features.OrderLineRemoved // which has a tree
	moved      = features.OrderMoved       // which has former names and defaults
)

func TestGeneratedMethodsWriteWhatEncodingJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requireSameJSON(t, anyValue[added]().Draw(t, "added"))
		requireSameJSON(t, anyValue[removed]().Draw(t, "removed"))
		requireSameJSON(t, anyValue[moved]().Draw(t, "moved"))
	})
}

func TestGeneratedMethodsReadWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requireRead(t, anyValue[added]().Draw(t, "added"))
		requireRead(t, anyValue[removed]().Draw(t, "removed"))
		requireRead(t, anyValue[moved]().Draw(t, "moved"))
	})
}

func TestGeneratedMethodsReadDamagedJSONAsEncodingJSONDoesOrNotAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requireSameValue[everything](t, damaged(t, anyValue[everything]()))
		requireSameValue[optional](t, damaged(t, anyValue[optional]()))
		requireSameValue[removed](t, damaged(t, anyValue[removed]()))
		requireSameValue[moved](t, damaged(t, anyValue[moved]()))
		requireSameValue[added](t, damaged(t, anyValue[added]()))
	})
}

func FuzzParsePayload(f *testing.F) {
	for seed := range 10 {
		for _, value := range []any{
			anyValue[everything]().Example(seed), anyValue[optional]().Example(seed), anyValue[removed]().Example(seed),
		} {
			data, err := json.Marshal(value)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(`{"home":{"x":1,"y":2},"level":2,"steps":[{"at":"2020-01-01","how":"red"},{}],"name":"a"}`))
	f.Add([]byte(`{"strings":["a"],"ints":[1],"texts_by_name":{"k":"v"},"matrix":[[1],null],"documents":[{},null],"documents_by_name":{"k":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		requireSameValue[everything](t, data)
		requireSameValue[optional](t, data)
		requireSameValue[removed](t, data)
		requireSameValue[moved](t, data)
		requireSameValue[features.Collections](t, data)
	})
}

// writeTo writes a struct by its methods, or as a struct without methods is written.
func writeTo(w *wire.Writer, value any) {
	if e, ok := value.(wire.Encoder); ok {
		e.WriteJSON(w)
		return
	}
	wire.WriteStruct(w, value)
}

// readFrom is the opposite of writeTo.
func readFrom(r *wire.Reader, into any) {
	if d, ok := into.(wire.Decoder); ok {
		d.ReadJSON(r)
		return
	}
	wire.ReadStruct(r, into)
}

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// requireSameJSON checks that a Writer writes what encoding/json does, and
// gives up where that has an error.
func requireSameJSON[T any](t tb, value T) {
	t.Helper()
	want, wantErr := json.Marshal(&value)
	var w wire.Writer
	writeTo(&w, &value)
	switch got, ok := w.Finish(); {
	case ok != (wantErr == nil):
		t.Fatalf("the writer is done: %v; encoding/json: %s, %v", ok, want, wantErr)
	case ok && string(got) != string(want):
		t.Fatalf("written differently:\n got %s\nwant %s", got, want)
	}
	got, err := wire.NewCodec[T]().Encode(value)
	if string(got) != string(want) || text(err) != text(wantErr) {
		t.Fatalf("encoded differently:\n got %s, %v\nwant %s, %v", got, err, want, wantErr)
	}
}

// requireRead checks that a Reader does not give up on what encoding/json has
// written.
func requireRead[T any](t tb, value T) {
	t.Helper()
	data, err := json.Marshal(&value)
	if err != nil {
		t.Fatalf("the test has made a value that cannot be encoded: %v", err)
	}
	if !requireSameValue[T](t, data) {
		t.Fatalf("the reader gave up on %s", data)
	}
}

// requireSameValue checks that what a Reader has read, if it has not given up,
// is what encoding/json reads; and that a codec's answer is the same in any case.
func requireSameValue[T any](t tb, data []byte) (ok bool) {
	t.Helper()
	var want, got T
	wantErr := json.Unmarshal(data, &want)

	mine := append([]byte(nil), data...)
	r := wire.NewReader(mine)
	readFrom(r, &got)
	ok = r.Finish()
	for i := range mine { // must not matter to what was read
		mine[i] = 'x'
	}
	if ok && (wantErr != nil || !reflect.DeepEqual(got, want)) {
		t.Fatalf("read differently: %s\n got %+v\nwant %+v, %v", data, got, want, wantErr)
	}

	decoded, err := wire.NewCodec[T]().Decode(data)
	if text(err) != text(wantErr) || err == nil && !reflect.DeepEqual(decoded, want) {
		t.Fatalf("decoded differently: %s\n got %+v, %v\nwant %+v, %v", data, decoded, err, want, wantErr)
	}
	return ok
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// anyValue generates values that can be encoded, with everything in them that
// is a special case somewhere.
func anyValue[T any]() *rapid.Generator[T] {
	return rapid.MakeCustom[T](rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[time.Time]():       times().AsAny(),
			reflect.TypeFor[runtime.Date]():    dates().AsAny(),
			reflect.TypeFor[json.RawMessage](): documents().AsAny(),
			reflect.TypeFor[features.Color]():  rapid.Custom(color).AsAny(),
			reflect.TypeFor[features.Tree]():   trees(3).AsAny(),
		},
		Kinds: map[reflect.Kind]*rapid.Generator[any]{
			reflect.String:  texts().AsAny(),
			reflect.Float64: floats().AsAny(),
		},
	})
}

func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "plain", "\"quotes\" and \\", "<a href='x'>&</a>", "\x00\x07\b\t\n\v\f\r\x1f\x7f",
			"naïve 日本 😀 \uFFFD", "line\u2028and\u2029paragraph", "\xff", "cut off \xe2\x80", "\xed\xa0\x80", "null", "{", "["}),
	)
}

func color(t *rapid.T) features.Color {
	known := rapid.SampledFrom([]string{"red", "dark-green", "NAVY_BLUE"})
	return features.Color(rapid.OneOf(known, texts()).Draw(t, "color"))
}

func floats() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64(),
		rapid.Map(rapid.Int(), func(n int) float64 { return float64(n) }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e20, 1e21, 1.5e-9, 1e-10, 1e100, math.MaxFloat64,
			math.SmallestNonzeroFloat64, 0.1}),
	)
}

func times() *rapid.Generator[time.Time] {
	zones := rapid.OneOf(
		rapid.SampledFrom([]*time.Location{time.UTC, time.Local}),
		rapid.Map(rapid.IntRange(1-24*60, 24*60-1), func(minutes int) *time.Location { return time.FixedZone("", 60*minutes) }),
	)
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.IntRange(0, 9).Draw(t, "zero") == 0 {
			return time.Time{}
		}
		year := rapid.OneOf(rapid.IntRange(0, 9999), rapid.IntRange(1970, 2100)).Draw(t, "year")
		second := rapid.IntRange(0, 365*24*60*60-1).Draw(t, "second")
		nanos := rapid.SampledFrom([]int{0, 0, 1, 120_000_000, 123_456_789, 999_999_999}).Draw(t, "nanos")
		return time.Date(year, 1, 1, 0, 0, second, nanos, zones.Draw(t, "zone"))
	})
}

func dates() *rapid.Generator[runtime.Date] {
	return rapid.Map(rapid.IntRange(-719_000, 2_900_000), func(day int) runtime.Date {
		return runtime.DateOf(time.Date(1970, 1, 1+day, 0, 0, 0, 0, time.UTC))
	})
}

func documents() *rapid.Generator[json.RawMessage] {
	return rapid.Map(rapid.SampledFrom([]string{"", "null", "true", "0", "-1.5E+3", `""`, `"\ud800 \/ <"`, "\"\u2028\"", "\"\xff\"",
		`{}`, `[]`, `{"a":[1,"]}",{"\"":null}],"a":2}`, " [ 1 ,\t{ \"b\" : { } } ]\n", `[[[[[[]]]]]]`}),
		func(text string) json.RawMessage {
			if text == "" {
				return nil
			}
			return json.RawMessage(text)
		})
}

// trees generates trees of at most that depth.
func trees(depth int) *rapid.Generator[features.Tree] {
	return rapid.Custom(func(t *rapid.T) features.Tree {
		tree := features.Tree{Label: texts().Draw(t, "label")}
		if depth == 0 {
			return tree
		}
		tree.Parent = rapid.Ptr(trees(depth-1), true).Draw(t, "parent")
		if rapid.Bool().Draw(t, "has children") {
			tree.Children = rapid.SliceOfN(trees(depth-1), 0, 2).Draw(t, "children")
		}
		if rapid.Bool().Draw(t, "has names") {
			tree.ByName = rapid.MapOfN(texts(), trees(depth-1), 0, 3).Draw(t, "by name")
		}
		return tree
	})
}

// damaged returns the JSON of some value with a few changes.
func damaged[T any](t *rapid.T, values *rapid.Generator[T]) []byte {
	data, err := json.Marshal(values.Draw(t, "value"))
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		at := rapid.IntRange(0, len(data)).Draw(t, "at")
		end := min(len(data), at+rapid.SampledFrom([]int{0, 0, 1, 1, 2, 5, 40}).Draw(t, "length"))
		piece := rapid.OneOf(
			rapid.SampledFrom([]string{"", "", " ", "\n", "null", "true", "0", "1", "-", ".", "e1", "E+2", "00", ",", ":", "\"", "\\", `\u00e9`,
				`\ud83d\ude00`, `\u0022`, `\/`, `\x`, "[", "]", "{", "}", "[]", "{}", "\xff", "é", "\t", "18446744073709551616", `"a_string":`, `"A_STRING":"x",`,
				`"label":"again",`, `"unknown":1,`, "-0", "2147483648", "{}", "T24", "Z", "+24:00", "1e400"}),
			rapid.Just(string(data[at:end])+string(data[at:end])), // a second time
		).Draw(t, "piece")
		data = []byte(string(data[:at]) + piece + string(data[end:]))
	}
	return data
}
