package wire_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

func TestAWriterWritesEveryKindAsEncodingJSONDoes(t *testing.T) {
	id := uuid.MustParse("0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f")
	moment := time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.FixedZone("", -90*60))
	tests := map[string]struct {
		value any
		write func(w *wire.Writer)
	}{
		"text":             {"a\"b\\c\n<&>\u2028 é 😀\x00\xff", func(w *wire.Writer) { w.String("a\"b\\c\n<&>\u2028 é 😀\x00\xff") }},
		"a bool":           {true, func(w *wire.Writer) { w.Bool(true) }},
		"the least int":    {math.MinInt, func(w *wire.Writer) { w.Int(math.MinInt) }},
		"an int32":         {int32(-7), func(w *wire.Writer) { w.Int32(-7) }},
		"the largest uint": {uint64(math.MaxUint64), func(w *wire.Writer) { w.Uint64(math.MaxUint64) }},
		"zero below zero":  {math.Copysign(0, -1), func(w *wire.Writer) { w.Float64(math.Copysign(0, -1)) }},
		"a tiny number":    {1e-9, func(w *wire.Writer) { w.Float64(1e-9) }},
		"a huge number":    {1e21, func(w *wire.Writer) { w.Float64(1e21) }},
		"bytes":            {[]byte{0, 255, 254}, func(w *wire.Writer) { w.Bytes([]byte{0, 255, 254}) }},
		"no bytes":         {[]byte{}, func(w *wire.Writer) { w.Bytes([]byte{}) }},
		"nil bytes":        {[]byte(nil), func(w *wire.Writer) { w.Bytes(nil) }},
		"a moment":         {moment, func(w *wire.Writer) { w.Time(moment) }},
		"a UUID":           {id, func(w *wire.Writer) { w.UUID(id) }},
		"a day":            {runtime.DateOf(moment), func(w *wire.Writer) { wire.WriteText(w, runtime.DateOf(moment)) }},
		"a duration":       {runtime.Duration(1500), func(w *wire.Writer) { wire.WriteText(w, runtime.Duration(1500)) }},
		"JSON":             {json.RawMessage(` [ "<" ] `), func(w *wire.Writer) { w.JSON(json.RawMessage(` [ "<" ] `)) }},
		"nil JSON":         {json.RawMessage(nil), func(w *wire.Writer) { w.JSON(nil) }},
		"a list":           {[]string{"a", "["}, func(w *wire.Writer) { wire.WriteList(w, []string{"a", "["}, w.String) }},
		"an empty list":    {[]int{}, func(w *wire.Writer) { wire.WriteList(w, []int{}, w.Int) }},
		"a nil list":       {[]int(nil), func(w *wire.Writer) { wire.WriteList(w, nil, w.Int) }},
		"a map": {map[string]int{"b": 2, "<": 1, "": 3, "é": 4},
			func(w *wire.Writer) { wire.WriteMap(w, map[string]int{"b": 2, "<": 1, "": 3, "é": 4}, w.Int) }},
		"an empty map": {map[string]int{}, func(w *wire.Writer) { wire.WriteMap(w, map[string]int{}, w.Int) }},
		"a nil map":    {map[string]int(nil), func(w *wire.Writer) { wire.WriteMap(w, nil, w.Int) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(test.value)
			if err != nil {
				t.Fatal(err)
			}
			var w wire.Writer
			test.write(&w)
			if got, ok := w.Finish(); !ok || string(got) != string(want) {
				t.Errorf("got %s, %v, want %s", got, ok, want)
			}
		})
	}
}

func TestAWriterGivesUpWhereEncodingJSONHasAnError(t *testing.T) {
	loop := features.Tree{Children: make([]features.Tree, 1)}
	loop.Children[0] = loop
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := map[string]any{
		"not a number":               &features.Point{X: math.NaN()},
		"an infinite number":         &features.Point{Y: math.Inf(-1)},
		"a day that does not exist":  &features.Everything{ADate: runtime.Date{Year: 2023, Month: 2, Day: 29}},
		"a year of five digits":      &features.Optional{ATime: &late},
		"JSON that is not valid":     &features.Collections{Documents: []json.RawMessage{json.RawMessage(`{`)}},
		"a value that has no end":    &loop,
		"a value in a map, likewise": &features.Tree{ByName: map[string]features.Tree{"loop": loop}},
	}
	for name, value := range tests {
		t.Run(name, func(t *testing.T) {
			_, wantErr := json.Marshal(value)
			if wantErr == nil {
				t.Fatal("encoding/json has no error")
			}
			var w wire.Writer
			writeTo(&w, value)
			if encoded, ok := w.Finish(); ok {
				t.Errorf("it has written %s", encoded)
			}
		})
	}
}

// hyped is a text that encoding/json would escape.
type hyped string

func (h hyped) AppendText(b []byte) ([]byte, error) { return append(b, "<b>"+h+"</b>"...), nil }

func TestAWriterGivesUpAtATextThatNeedsEscapes(t *testing.T) {
	var w wire.Writer
	wire.WriteText(&w, hyped("new"))
	if encoded, ok := w.Finish(); ok {
		t.Errorf("it has written %s", encoded)
	}
}

// The parent of this tree is the tree, by way of a pointer.
func TestAValueThatContainsItselfHasTheErrorOfEncodingJSON(t *testing.T) {
	tree := features.Tree{Label: "loop"}
	tree.Parent = &tree
	_, want := json.Marshal(&tree)
	if _, err := wire.NewCodec[features.Tree]().Encode(tree); want == nil || text(err) != text(want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
