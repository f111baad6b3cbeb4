package wire

import (
	"encoding"
	"fmt"
)

// WriteGoType writes a value of a Go type that go_types of a catalogue gives to a built-in type: the text of its
// method MarshalText. If that returns an error, the Writer gives up.
func WriteGoType[T encoding.TextMarshaler](w *Writer, value T) {
	text, err := value.MarshalText()
	if err != nil {
		w.giveUp()
		return
	}
	w.String(string(text))
}

// ReadGoType reads a text into a value that WriteGoType has written. Once the Reader has given up, it does not call
// the method UnmarshalText.
func ReadGoType(r *Reader, into encoding.TextUnmarshaler) {
	text := r.Text()
	if !r.gaveUp {
		r.Check(into.UnmarshalText(text))
	}
}

// GoTypeOf returns the value of T whose text is given: a default of the catalogue. It panics if T does not take that
// text.
func GoTypeOf[T any](text string) (value T) {
	if err := any(&value).(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		panic(fmt.Errorf("the default %.60q in the catalogue, which %T does not take: %w", text, value, err))
	}
	return value
}

// TextOf returns the text of a value, or the error of its method MarshalText in parentheses.
func TextOf(value encoding.TextMarshaler) string {
	text, err := value.MarshalText()
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(text)
}
