// This program holds the JSON of payloads against that of encoding/json, for values
// that it makes up.
package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"time"

	"example.com/cases/custom"
	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// valuesEach is how many values of each payload are compared.
const valuesEach = 40

// A variant is one of a union.
type variant struct {
	of                  reflect.Type
	discriminator, name string
}

var (
	variants = map[reflect.Type][]variant{} // by union
	samples  = map[reflect.Type][]reflect.Value{}
	sampled  []reflect.Type // those of samples, as they were added
	failures int
	checked  int
)

func addVariant[Union, Struct any](discriminator, name string) {
	union := reflect.TypeFor[Union]()
	variants[union] = append(variants[union], variant{reflect.TypeFor[Struct](), discriminator, name})
}

func addSamples(all ...any) {
	for _, sample := range all {
		v := reflect.ValueOf(sample)
		if samples[v.Type()] == nil {
			sampled = append(sampled, v.Type())
		}
		samples[v.Type()] = append(samples[v.Type()], v)
	}
}

func init() {
	addSamples(custom.Samples...)
	addSamples("", "text", "<a href=\"x\">&amp;</a>\u2028\\\x00\x7f", "日本", false, true, 0, -1, math.MaxInt, int32(0), int32(math.MinInt32),
		int64(0), int64(math.MaxInt64), uint64(0), uint64(math.MaxUint64), 0.0, math.Copysign(0, -1), 1e-7, 1e21, -0.5, math.MaxFloat64,
		[]byte{}, []byte{0, 1, 255}, json.RawMessage("null"), json.RawMessage(`{"a":[1.50,"x",{}]}`),
		time.Time{}, time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(2024, 2, 29, 12, 0, 0, 5, time.FixedZone("", -5400)),
		runtime.Date{Month: 1, Day: 1}, runtime.Date{Year: 9999, Month: 12, Day: 31}, runtime.Duration(0), runtime.Duration(math.MinInt64),
		runtime.Decimal("0"), runtime.Decimal("-12.50"), uuid.UUID{}, uuid.Max, netip.Addr{}, netip.MustParseAddr("fe80::1%eth0"),
		big.Int{}, *big.NewInt(-7), *new(big.Int).Exp(big.NewInt(7), big.NewInt(99), nil), *new(big.Int).Sub(big.NewInt(1), big.NewInt(1)),
		url.URL{}, url.URL{Scheme: "https", Host: "example.org", RawQuery: "a=b&c"})
}

// generated reports whether busgen has made a type.
func generated(t reflect.Type) bool {
	return strings.HasPrefix(t.PkgPath(), "example.com/cases/") && t.PkgPath() != "example.com/cases/custom"
}

// baseOf returns the type that a named scalar is made of, or nil for another type.
func baseOf(t reflect.Type) reflect.Type {
	text := reflect.TypeFor[encoding.TextMarshaler]()
	for _, base := range sampled {
		if !generated(t) || strings.HasPrefix(base.PkgPath(), "example.com/") {
			continue
		}
		if t.Kind() == base.Kind() && base.ConvertibleTo(t) && t.Implements(text) == base.Implements(text) {
			return base
		}
	}
	return nil
}

// fill gives v something to hold.
func fill(v reflect.Value, r *rand.Rand, depth int) {
	t := v.Type()
	if known := samples[t]; known != nil {
		v.Set(known[r.IntN(len(known))])
		return
	}
	if base := baseOf(t); base != nil {
		known := samples[base]
		v.Set(known[r.IntN(len(known))].Convert(t))
		return
	}
	empty := depth > 5 || r.IntN(4) == 0
	switch t.Kind() {
	case reflect.Interface:
		if all := variants[t]; depth <= 8 { // nil below, which has a JSON form
			one := reflect.New(all[r.IntN(len(all))].of).Elem()
			fill(one, r, depth+1)
			v.Set(one)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), r, depth+1)
		}
	case reflect.Pointer:
		if !empty {
			v.Set(reflect.New(t.Elem()))
			fill(v.Elem(), r, depth+1)
			if samples[t.Elem()] == nil {
				return
			}
			if text, _ := json.Marshal(v.Interface()); string(text) == "null" {
				v.SetZero() // as which it would come back
			}
		}
	case reflect.Slice:
		for !empty && v.Len() < 2 {
			v.Set(reflect.Append(v, reflect.Zero(t.Elem())))
			fill(v.Index(v.Len()-1), r, depth+1)
		}
		if empty && r.IntN(2) == 0 {
			v.Set(reflect.MakeSlice(t, 0, 0))
		}
	case reflect.Map:
		if !empty || r.IntN(2) == 0 {
			v.Set(reflect.MakeMap(t))
		}
		for _, key := range []string{"b", "", "<\"\u2028>"} {
			if one := reflect.New(t.Elem()).Elem(); !empty {
				fill(one, r, depth+1)
				v.SetMapIndex(reflect.ValueOf(key), one)
			}
		}
	case reflect.String: // an enum, which is read whatever it is
		v.SetString([]string{"", "a", "<odd>"}[r.IntN(3)])
	case reflect.Int:
		v.SetInt(int64(r.IntN(3)) - 1)
	default:
		panic(fmt.Sprintf("there is no value for %v", t))
	}
}

// equivalent returns a value that encoding/json writes as it should write v: no type
// of it has generated methods, unions are structs with a discriminator, and
// everything has an address.
func equivalent(v reflect.Value) any {
	t := v.Type()
	switch {
	case generated(t) && t.Kind() == reflect.Interface:
		if v.IsNil() {
			return nil
		}
		for _, one := range variants[t] {
			if one.of == v.Elem().Type() {
				return structOf(v.Elem(), one)
			}
		}
		panic(fmt.Sprintf("%v is no variant of %v", v.Elem().Type(), t))
	case baseOf(t) != nil:
		return equivalent(v.Convert(baseOf(t)))
	case generated(t) && t.Kind() == reflect.Struct:
		return structOf(v, variant{})
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return equivalent(v.Elem())
	case t.Name() == "" && t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var list []any
		if !v.IsNil() {
			list = []any{}
		}
		for i := range v.Len() {
			list = append(list, equivalent(v.Index(i)))
		}
		return list
	case t.Name() == "" && t.Kind() == reflect.Map:
		if v.IsNil() {
			return nil
		}
		entries := map[string]any{}
		for entry := v.MapRange(); entry.Next(); {
			entries[entry.Key().String()] = equivalent(entry.Value())
		}
		return entries
	}
	p := reflect.New(t)
	p.Elem().Set(v)
	return p.Interface()
}

// structOf is a struct with the present fields of v, and the discriminator of a variant in front.
func structOf(v reflect.Value, of variant) any {
	var fields []reflect.StructField
	var contents []any
	add := func(name, key string, content any) {
		fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeFor[any](), Tag: reflect.StructTag(fmt.Sprintf("json:%q", key))})
		contents = append(contents, content)
	}
	if of.name != "" {
		add("Discriminator_", of.discriminator, of.name)
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch f.Type.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
			if options != "" && v.Field(i).IsNil() {
				continue // it is absent
			}
		}
		add(f.Name, key, equivalent(v.Field(i)))
	}
	made := reflect.New(reflect.StructOf(fields))
	for i, content := range contents {
		if content != nil {
			made.Elem().Field(i).Set(reflect.ValueOf(content))
		}
	}
	return made.Interface()
}

// difference shows where two texts begin to differ.
func difference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	part := func(text string) string { return text[max(0, min(i-60, len(text))):min(i+60, len(text))] }
	return fmt.Sprintf("…%q, want\n…%q", part(got), part(want))
}

// check compares what is made of values of T.
func check[T any](name string) {
	codec := wire.NewCodec[T]()
	for seed := range uint64(valuesEach) {
		var value T
		fill(reflect.ValueOf(&value).Elem(), rand.New(rand.NewPCG(seed, 0)), 0)
		checked++
		for _, problem := range problems(codec, value) {
			if failures++; failures <= 5 {
				fmt.Printf("%s, seed %d: %.1500s\n", name, seed, problem)
			}
		}
	}
}

func problems[T any](codec *wire.Codec[T], value T) (all []string) {
	report := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	wanted, err := json.Marshal(equivalent(reflect.ValueOf(&value).Elem()))
	if err != nil {
		return []string{err.Error()}
	}
	want := string(wanted)
	written := func(how, want string, text []byte, err error) {
		if err != nil || string(text) != want {
			report("written %s (%v) as\n%s", how, err, difference(string(text), want))
		}
	}
	text, err := codec.Encode(value)
	written("by the codec", want, text, err)
	text, err = json.Marshal(value)
	written("by encoding/json", want, text, err)
	text, err = json.Marshal(&value)
	written("by encoding/json, with an address,", want, text, err)
	text, err = json.Marshal(map[string]any{"k": []T{value}, "m": map[string]T{"k": value}})
	written("inside of others", `{"k":[`+want+`],"m":{"k":`+want+`}}`, text, err)

	read := func(how string, back T, err error) {
		if err != nil || !runtime.Equal(back, value) || !runtime.Equal(runtime.Clone(back), value) {
			again, _ := codec.Encode(back)
			report("read %s (%v) as\n%s\n%+v\n%+v", how, err, difference(string(again), want), back, value)
		}
		text, err := codec.Encode(back)
		written("again", want, text, err)
	}
	back, err := codec.Decode([]byte(want))
	read("by the codec", back, err)
	back, err = codec.Decode([]byte(" " + want))
	read("by the codec, with a blank,", back, err)
	var again T
	err = json.Unmarshal([]byte(want), &again)
	read("by encoding/json", again, err)
	if !runtime.Equal(runtime.Clone(value), value) {
		report("%+v is not equal to its copy", value)
	}
	return all
}
