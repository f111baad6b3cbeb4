package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

// color and grade are enums as busgen generates them: the runtime writes them without a method.
type color string

func (v color) Valid() bool { return v == "red" || v == "<blue>" }

func (v color) MarshalText() ([]byte, error) { return []byte(v), nil }

func (v *color) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*string)(v)) }

func (v *color) ReadJSON(r *Reader) { r.Enum((*string)(v), "red", "<blue>") }

type grade int

func (v grade) Valid() bool { return v == 1 }

func (v grade) MarshalJSON() ([]byte, error) { return json.Marshal(int(v)) }

func (v grade) MarshalText() ([]byte, error) { return []byte("one"), nil }

func (v *grade) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*int)(v)) }

func (v *grade) ReadJSON(r *Reader) { *v = grade(r.Int()) }

type painted struct {
	Color  color            `json:"color"`
	Grade  grade            `json:"grade"`
	Maybe  *color           `json:"maybe,omitempty"`
	Colors []color          `json:"colors"`
	Named  map[string]color `json:"named"`
	Grades map[string]grade `json:"grades"`
}

func TestEnumsAreWrittenWithoutAMethodAsEncodingJSONWritesThem(t *testing.T) {
	codec := NewTypeCodec(reflect.TypeFor[painted]())
	if !codec.Generated() {
		t.Fatal("enums are left to encoding/json")
	}
	blue := color("<blue>")
	for _, value := range []painted{
		{},
		{Color: "red", Grade: 1, Maybe: &blue, Colors: []color{"red", "<blue>", "unknown \"ü\"\n"}, Named: map[string]color{"a": "red"}, Grades: map[string]grade{"b": -7}},
	} {
		want, err := json.Marshal(&value)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.Encode(&value)
		if err != nil || string(got) != string(want) {
			t.Errorf("it is written as %s, %v, want %s", got, err, want)
		}
		var back painted
		if err := codec.Decode(got, &back); err != nil || !reflect.DeepEqual(back, value) {
			t.Errorf("%s is read as %+v, %v", got, back, err)
		}
		memory := newScratch()
		if planned := planOf(reflect.TypeFor[painted]()).encode(&memory, &value); string(planned) != string(want) {
			t.Errorf("without encoding/json it is written as %s", planned)
		}
	}
}

func TestKnownValuesOfAnEnumAreReadWithoutAllocating(t *testing.T) {
	r := Reader{}
	var into color
	for text, want := range map[string]struct {
		value  color
		allocs float64
	}{`"red"`: {"red", 0}, `"\u003cblue\u003e"`: {"<blue>", 1}, `"<blue>"`: {"<blue>", 0}, `"green"`: {"green", 1}} {
		data := []byte(text)
		n := testing.AllocsPerRun(100, func() {
			r = Reader{data: data}
			into.ReadJSON(&r)
		})
		if into != want.value || n > want.allocs || !r.Finish() {
			t.Errorf("%s is read as %q with %v allocations", text, into, n)
		}
	}
}

// shouting is an enum of an older contract, which writes itself.
type shouting string

func (v shouting) Valid() bool { return true }

func (v shouting) WriteJSON(w *Writer) { w.String(string(v) + "!") }

func (v *shouting) ReadJSON(r *Reader) { r.Enum((*string)(v)) }

// cleaned is an enum for which a person wrote how it is stored.
type cleaned string

func (v cleaned) Valid() bool { return true }

func (v *cleaned) ReadJSON(r *Reader) { r.Enum((*string)(v)) }

func (v cleaned) MarshalJSON() ([]byte, error) { return []byte(`"clean"`), nil }

// readable is no enum.
type readable struct{ N int }

func (v *readable) ReadJSON(r *Reader) { v.N = r.Int() }

// word is a text with a method that happens to be called like one of an enum.
type word string

func (v *word) ReadJSON(r *Reader) { *v = word(r.String()) + "!" }

func TestATextThatIsNoEnumIsReadAsOne(t *testing.T) {
	var into word
	if err := NewTypeCodec(reflect.TypeFor[word]()).Decode([]byte(`"a"`), &into); err != nil || into != "a" {
		t.Errorf("it is read as %q, %v", into, err)
	}
}

func TestOnlyAGeneratedEnumIsWrittenWithoutAMethod(t *testing.T) {
	for _, test := range []struct {
		value     any
		generated bool
		want      string
	}{
		{new(shouting("a")), true, `"a!"`},
		{new(cleaned("a")), false, `"clean"`},
		{&readable{3}, false, `{"N":3}`},
		{new(color("red")), true, `"red"`},
	} {
		codec := NewTypeCodec(reflect.TypeOf(test.value).Elem())
		got, err := codec.Encode(test.value)
		if codec.Generated() != test.generated || err != nil || string(got) != test.want {
			t.Errorf("%T is written as %s, %v, generated: %v", test.value, got, err, codec.Generated())
		}
	}
}
