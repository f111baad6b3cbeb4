package wire_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/gen/wire"
)

type point struct {
	X float64 `json:"x"`
}

func TestAVariantHasItsNameInFront(t *testing.T) {
	for _, test := range []struct {
		variant any
		want    string
	}{
		{point{1}, `{"kind":"point","x":1}`},
		{struct{}{}, `{"kind":"point"}`},
	} {
		if got, err := wire.VariantJSON("kind", "point", &test.variant); string(got) != test.want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
	if _, err := wire.VariantJSON("kind", "point", &point{math.NaN()}); err == nil {
		t.Error("what cannot be written has no error")
	}
}

// cents writes and reads itself with methods of its pointer.
type cents struct{ n int }

func (c *cents) MarshalJSON() ([]byte, error) { return json.Marshal(float64(c.n) / 100) }
func (c *cents) UnmarshalJSON(text []byte) error {
	var f float64
	err := json.Unmarshal(text, &f)
	c.n = int(100 * f)
	return err
}

func TestMethodsOfPointersAreCalledInVariantsAndMaps(t *testing.T) {
	type price struct {
		Amount cents `json:"amount"`
	}
	if got, err := wire.VariantJSON("kind", "price", &price{cents{150}}); string(got) != `{"kind":"price","amount":1.5}` || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	m := map[string]cents{"a": {150}, "b": {}}
	encoded, err := json.Marshal(wire.EachEntry(m, wire.NewCustom))
	if string(encoded) != `{"a":1.5,"b":0}` || err != nil {
		t.Errorf("got %s, %v", encoded, err)
	}
	var back map[string]wire.Custom[cents]
	if err := json.Unmarshal(encoded, &back); err != nil || !reflect.DeepEqual(wire.EachEntry(back, wire.Custom[cents].Get), m) {
		t.Errorf("got %v, %v", back, err)
	}
}

func TestTheNameOfAVariantIsFoundWhereverItIs(t *testing.T) {
	for _, text := range []string{`{"kind":"point","x":1}`, ` { "x" : {"kind":"other"}, "kind" : "point" } `} {
		if name, err := wire.VariantName([]byte(text), "kind", "line", "point"); name != "point" || err != nil {
			t.Errorf("%s: got %s, %v", text, name, err)
		}
	}
	if name, err := wire.VariantName([]byte("null"), "kind", "point"); name != "" || err != nil {
		t.Errorf("null: got %s, %v", name, err)
	}
	for text, want := range map[string]string{
		`{"kind":"circle"}`: `"kind" is "circle", which is not one of line, point`,
		`{"x":1}`:           `an object with a text "kind" is needed`,
		`{"kind":1}`:        `an object with a text "kind" is needed`,
		`[1]`:               `cannot unmarshal array`,
	} {
		if _, err := wire.VariantName([]byte(text), "kind", "line", "point"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestCollectionsAreConvertedAndNilStaysNil(t *testing.T) {
	double := func(n int) float64 { return float64(2 * n) }
	if got := wire.EachItem([]int{1, 2}, double); !reflect.DeepEqual(got, []float64{2, 4}) {
		t.Error(got)
	}
	if got := wire.EachEntry(map[string]int{"a": 1}, double); !reflect.DeepEqual(got, map[string]float64{"a": 2}) {
		t.Error(got)
	}
	if wire.EachItem(nil, double) != nil || wire.EachEntry(nil, double) != nil || wire.EachItem([]int{}, double) == nil || wire.EachEntry(map[string]int{}, double) == nil {
		t.Error("nil and empty are mixed up")
	}
}

func TestASampleIsReadWithoutTheBlanksOfTheSourceCode(t *testing.T) {
	type sample struct {
		Raw json.RawMessage `json:"raw"`
	}
	if got := wire.MustParse[sample]("{\n\t\"raw\": [ 1 ]\n}"); string(got.Raw) != "[1]" {
		t.Errorf("got %s", got.Raw)
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "point") {
			t.Errorf("got the panic %q", text)
		}
	}()
	wire.MustParse[point](`{"x":"one"}`)
}
