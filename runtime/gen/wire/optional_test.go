package wire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

// Nil is absent, and every other value is there, however empty it is: a zero time, a
// zero struct, an empty list.
func TestOnlyNilIsAbsentInTheJSON(t *testing.T) {
	codec := wire.NewCodec[features.Optional]()
	if encoded, err := codec.Encode(features.Optional{}); string(encoded) != "{}" || err != nil {
		t.Errorf("nothing is encoded as %s, %v", encoded, err)
	}
	for i := range reflect.TypeFor[features.Optional]().NumField() {
		var value features.Optional
		field := reflect.ValueOf(&value).Elem().Field(i)
		setEmpty(field)
		f := reflect.TypeFor[features.Optional]().Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		quick, err := codec.Encode(value)
		if err != nil || !strings.HasPrefix(string(quick), `{"`+key+`":`) {
			t.Errorf("%s is encoded as %s, %v", f.Name, quick, err)
		}
		if slow, err := json.Marshal(value); string(slow) != string(quick) || err != nil {
			t.Errorf("%s is encoded as %s, and by encoding/json as %s, %v", f.Name, quick, slow, err)
		}
		for _, text := range []string{string(quick), " " + string(quick)} { // the second is left to encoding/json
			if back, err := codec.Decode([]byte(text)); err != nil || !runtime.Equal(back, value) || reflect.ValueOf(back).Field(i).IsNil() {
				t.Errorf("%s comes back as %+v, %v", text, back, err)
			}
		}
	}
}

// setEmpty makes an optional field hold as little as it can.
func setEmpty(field reflect.Value) {
	switch raw, isJSON := field.Interface().(json.RawMessage); {
	case isJSON:
		field.SetBytes(append(raw, "null"...))
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		if day, isDate := field.Interface().(*runtime.Date); isDate {
			*day = runtime.Date{Month: 1, Day: 1} // the zero Date is none
		}
	case field.Kind() == reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
	default:
		field.Set(reflect.MakeSlice(field.Type(), 0, 0))
	}
}

// Nil is null under every key, and comes back as nil; every other value is there, however empty it is.
func TestNilIsNullInANullableField(t *testing.T) {
	for _, none := range []interface {
		MarshalJSON() ([]byte, error)
	}{features.Nullable{}} {
		text, err := none.MarshalJSON()
		var keys map[string]json.RawMessage
		if err != nil || json.Unmarshal(text, &keys) != nil || len(keys) != reflect.TypeFor[features.Nullable]().NumField() {
			t.Fatalf("%s, %v", text, err)
		}
		for key, value := range keys {
			if string(value) != "null" {
				t.Errorf("%s is %s", key, value)
			}
		}
		var back features.Nullable
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, features.Nullable{}) || back.Validate() != nil || back.WithDefaultOrDefault() != 7 {
			t.Errorf("%s comes back as %+v, %v", text, back, err)
		}
	}
	codec := wire.NewCodec[features.Empty]()
	const all = `{"text":null,"day":null,"place":null,"list":null,"flag":null}`
	encoded, err := codec.Encode(features.Empty{})
	if slow, slowly := json.Marshal(features.Empty{}); string(encoded) != all || string(slow) != all || err != nil || slowly != nil {
		t.Errorf("%s, %v; by encoding/json %s, %v", encoded, err, slow, slowly)
	}
	for _, text := range []string{all, " " + all, "{}", ` {"text":null}`, `{"sign":null}`} {
		if back, err := codec.Decode([]byte(text)); err != nil || !reflect.DeepEqual(back, features.Empty{}) {
			t.Errorf("%s comes back as %+v, %v", text, back, err)
		}
	}
	var full features.Empty
	for i := range reflect.TypeFor[features.Empty]().NumField() {
		setEmpty(reflect.ValueOf(&full).Elem().Field(i))
	}
	encoded, err = codec.Encode(full)
	if slow, _ := json.Marshal(full); err != nil || string(encoded) != string(slow) || strings.Contains(string(encoded), "null") {
		t.Errorf("%s, %v; by encoding/json %s", encoded, err, slow)
	}
	if back, err := codec.Decode(encoded); err != nil || !runtime.Equal(back, full) || runtime.Equal(back, features.Empty{}) {
		t.Errorf("%s comes back as %+v, %v", encoded, back, err)
	}
	copied := runtime.Clone(full)
	*copied.Text, copied.Place.X = "changed", 1
	if runtime.Equal(copied, full) || *full.Text != "" || full.Place.X != 0 {
		t.Error("a copy shares what is in a nullable field")
	}
}
