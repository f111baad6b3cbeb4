package wire_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// These are like generated structs, and have no methods that write and read them.
type (
	planned struct {
		ID     uuid.UUID                       `json:"id"`
		Text   string                          `json:"a <text> & é"`
		Times  map[string]time.Time            `json:"times"`
		Nested map[string]map[string]plannedIn `json:"nested,omitzero"`
		In     *plannedIn                      `json:"in,omitempty"`
		Again  *planned                        `json:"again,omitempty"`
		List   []*plannedIn                    `json:"list"`
		Lists  [][][]byte                      `json:"lists,omitzero"`
		Days   []runtime.Date                  `json:"days"`
		Raw    map[string]json.RawMessage      `json:"raw"`
		Dash   bool                            `json:"-,"`
	}
	plannedIn struct {
		N     int32           `json:"n"`
		Empty struct{}        `json:"empty"`
		Pairs map[string]bool `json:"pairs"`
		Level plannedLevel    `json:"level"`
	}
	plannedLevel int64
)

func TestAStructOfTagsIsWrittenAndReadWithoutMethods(t *testing.T) {
	day := runtime.Date{Year: 2024, Month: 2, Day: 29}
	in := plannedIn{N: -1, Pairs: map[string]bool{"b": true, "a": false}, Level: 3}
	for name, value := range map[string]planned{
		"nothing": {},
		"everything": {
			ID: uuid.Max, Text: "<é>", Times: map[string]time.Time{"z": time.Unix(1, 2).UTC(), "a": {}}, In: &in,
			Nested: map[string]map[string]plannedIn{"y": {"2": in, "1": {}}, "x": nil, "z": {}}, Again: &planned{List: []*plannedIn{}},
			List: []*plannedIn{&in, nil, {}}, Lists: [][][]byte{nil, {}, {nil, {}, {1, 2, 3}}}, Days: []runtime.Date{day, day, day},
			Raw: map[string]json.RawMessage{"k": json.RawMessage(`[1]`)}, Dash: true,
		},
		"empty lists and maps": {Times: map[string]time.Time{}, Nested: map[string]map[string]plannedIn{}, List: []*plannedIn{}, Lists: [][][]byte{}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range value.Days {
				value.Days[i] = day // the zero day has no text
			}
			codec := wire.NewCodec[planned]()
			if !codec.Generated() {
				t.Fatal("it is left to encoding/json")
			}
			requireSameJSON(t, value)
			requireRead(t, value)
		})
	}
}

// What only encoding/json knows is left to it: the result is its own.
func TestAStructThatIsUnlikeGeneratedOnesIsLeftToEncodingJSON(t *testing.T) {
	type inner struct {
		A int `json:"a"`
	}
	for name, value := range map[string]any{
		"a field without a tag": struct{ A int }{1},
		"a tag without a name": struct {
			A int `json:",omitempty"`
		}{1},
		"a field that is left out": struct {
			A int `json:"-"`
		}{1},
		"a number as a text": struct {
			A int `json:"a,string"`
		}{1},
		"zero is left out": struct {
			A int `json:"a,omitzero"`
		}{0},
		"an empty list is left out": struct {
			A []int `json:"a,omitempty"`
		}{[]int{}},
		"a type that says when it is zero": struct {
			A never `json:"a,omitzero"`
		}{nil},
		"an embedded struct": struct{ inner }{inner{1}},
		"two fields of one name": reflect.Zero(reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"a"`}, {Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
		})).Interface(),
		"a field that is not exported": reflect.Zero(reflect.StructOf([]reflect.StructField{
			{Name: "a", PkgPath: "example.com/a", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
		})).Interface(),
		"a name that encoding/json refuses": struct {
			A int `json:"a'"`
		}{1},
		"a small number": struct {
			A int8 `json:"a"`
		}{1},
		"a short float": struct {
			A float32 `json:"a"`
		}{0.1},
		"an interface": struct {
			A any `json:"a"`
		}{1.0},
		"an array": struct {
			A [2]int `json:"a"`
		}{},
		"a map with other keys": struct {
			A map[int]int `json:"a"`
		}{map[int]int{1: 2}},
		"a pointer to a pointer": struct {
			A **int `json:"a"`
		}{},
		"bytes of a type": struct {
			A []letter `json:"a"`
		}{[]letter{1}},
		"a list of a type with methods": struct {
			A []yelled `json:"a"`
		}{[]yelled{"x"}},
		"a map of a type with methods": struct {
			A map[string]*yelled `json:"a"`
		}{map[string]*yelled{"k": nil}},
		"a type with methods deeply nested": struct {
			A []map[string][]struct {
				B *yelled `json:"b"`
			} `json:"a"`
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			of := reflect.TypeOf(value)
			codec := wire.NewTypeCodec(of)
			if codec.Generated() {
				t.Error("it is not left to encoding/json")
			}
			pointer := reflect.New(of)
			pointer.Elem().Set(reflect.ValueOf(value))
			got, err := codec.Encode(pointer.Interface())
			want, wantErr := json.Marshal(value)
			if string(got) != string(want) || text(err) != text(wantErr) {
				t.Errorf("it is encoded as %s, %v, want %s, %v", got, err, want, wantErr)
			}
		})
	}
}

type (
	never  []int
	letter uint8
	yelled string
)

func (never) IsZero() bool                    { return false }
func (s yelled) MarshalText() ([]byte, error) { return []byte(s + "!"), nil }

// A value may be read into one that is not zero, by whoever calls ReadStruct.
func TestListsAreReadAnew(t *testing.T) {
	value := planned{Days: make([]runtime.Date, 3, 8)}
	wire.ReadStruct(wire.NewReader([]byte(`{"days":["2024-02-29"]}`)), &value)
	if len(value.Days) != 1 || value.Days[0].Year != 2024 {
		t.Errorf("it has become %+v", value.Days)
	}
}
