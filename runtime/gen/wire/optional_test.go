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
			if back, err := codec.Decode([]byte(text)); err != nil || !back.Equal(value) || reflect.ValueOf(back).Field(i).IsNil() {
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
