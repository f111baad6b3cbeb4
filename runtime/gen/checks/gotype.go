package checks

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// GoType checks a value of a Go type that go_types of a catalogue gives to a built-in type, whose usual Go type is B.
// It calls the method Validate, if there is one. Then it checks that the value is written as one of B is, by
// MarshalText and by MarshalJSON, and that it can be read again. Otherwise stored events would depend on go_types, or
// could not be handled.
func GoType[B any, T encoding.TextMarshaler](value T) error { return goType(&value, new(B)) }

// goType is GoType for pointers, so that the compiler makes it once.
func goType(value, usual any) error {
	if v, ok := value.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	text, err := value.(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return fmt.Errorf("cannot be stored: its method MarshalText: %w", err)
	}
	if err := parse(text, usual); err != nil {
		return fmt.Errorf("cannot be stored: its method MarshalText makes %.60q, and %w", text, err)
	}
	if err := comesBack(value, text, "UnmarshalText", func(back any) error { return back.(encoding.TextUnmarshaler).UnmarshalText(text) }); err != nil {
		return err
	}
	// Payloads with unions, and JSON of other programs, go through encoding/json, which prefers these methods.
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return err
	}
	if m, ok := value.(json.Marshaler); ok {
		encoded, err := m.MarshalJSON()
		if err != nil {
			return fmt.Errorf("cannot be stored: its method MarshalJSON: %w", err)
		}
		if string(encoded) != string(quoted) {
			return fmt.Errorf("cannot be stored: its method MarshalJSON makes %.60s, and MarshalText makes %.60q; both must make the same text", encoded, text)
		}
	}
	if _, ok := value.(json.Unmarshaler); ok {
		return comesBack(value, text, "UnmarshalJSON", func(back any) error { return back.(json.Unmarshaler).UnmarshalJSON(quoted) })
	}
	return nil
}

// comesBack checks that a method reads a text as a value with the same text.
func comesBack(value any, text []byte, method string, read func(back any) error) error {
	back := reflect.New(reflect.TypeOf(value).Elem()).Interface()
	if err := read(back); err != nil {
		return fmt.Errorf("cannot be stored: its method %s does not take its text %.60q: %w", method, text, err)
	}
	again, err := back.(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return fmt.Errorf("cannot be stored: what its method %s makes of its text %.60q has no text: %w", method, text, err)
	}
	if string(again) != string(text) {
		return fmt.Errorf("cannot be stored: its method %s makes another value of its text %.60q, with the text %.60q", method, text, again)
	}
	return nil
}

// Plain returns a value of a Go type of go_types as one of the usual Go type. The result is of no use if GoType
// returns an error.
func Plain[B any, T encoding.TextMarshaler](value T) (usual B) {
	if text, err := value.MarshalText(); err == nil {
		_ = parse(text, &usual) // GoType reports it
	}
	return usual
}

// parse reads a text into a value of the usual Go type of a built-in type. A text that such a value would not have is
// an error.
func parse(text []byte, into any) error {
	read, ok := into.(encoding.TextUnmarshaler)
	if !ok { // a decimal: any text can be one, and Validate says which are
		reflect.ValueOf(into).Elem().SetString(string(text))
		return into.(interface{ Validate() error }).Validate()
	}
	if err := read.UnmarshalText(text); err != nil {
		return err
	}
	if _, isTime := into.(*time.Time); isTime {
		return nil // which can have zeros at the end of its seconds
	}
	if want := into.(fmt.Stringer).String(); want != string(text) {
		return errors.New("the text of that value is " + want)
	}
	return nil
}

// UniqueTexts is Unique for values of a Go type of go_types. Two with the same text are equal.
func UniqueTexts[T encoding.TextMarshaler](p *Problems, path string, list []T) {
	if len(list) < 2 {
		return
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		text, err := item.MarshalText()
		if err != nil {
			return // GoType reports it
		}
		texts = append(texts, string(text))
	}
	Unique(p, path, texts)
}
