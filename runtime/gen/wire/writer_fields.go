package wire

import (
	"encoding"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Each method for a field writes a key and a value of its kind, as [Writer.Key] and the method
// of that kind do. They are one call in generated code, and no code that the compiler puts into
// each caller.

// StringField writes a field with a string.
func (w *Writer) StringField(name, value string) { w.key(name); w.String(value) }

// BoolField writes a field with true or false.
func (w *Writer) BoolField(name string, value bool) { w.key(name); w.Bool(value) }

// IntField writes a field with a whole number.
func (w *Writer) IntField(name string, value int) { w.key(name); w.Int64(int64(value)) }

// Int32Field writes a field with a whole number.
func (w *Writer) Int32Field(name string, value int32) { w.key(name); w.Int64(int64(value)) }

// Int64Field writes a field with a whole number.
func (w *Writer) Int64Field(name string, value int64) { w.key(name); w.Int64(value) }

// Uint64Field writes a field with a whole number.
func (w *Writer) Uint64Field(name string, value uint64) { w.key(name); w.Uint64(value) }

// Float64Field writes a field with a number.
func (w *Writer) Float64Field(name string, value float64) { w.key(name); w.Float64(value) }

// BytesField writes a field with bytes, in base64.
func (w *Writer) BytesField(name string, value []byte) { w.key(name); w.Bytes(value) }

// TimeField writes a field with a moment.
func (w *Writer) TimeField(name string, value time.Time) { w.key(name); w.Time(value) }

// UUIDField writes a field with a UUID.
func (w *Writer) UUIDField(name string, value uuid.UUID) { w.key(name); w.UUID(value) }

// JSONField writes a field with JSON of any kind.
func (w *Writer) JSONField(name string, value json.RawMessage) { w.key(name); w.JSON(value) }

// WriteTextField writes a field with a value as [WriteText] writes it.
func WriteTextField[T encoding.TextAppender](w *Writer, name string, value T) {
	w.Key(name)
	WriteText(w, value)
}

// WriteOptionalField writes a field if value is not nil. It calls write for what value points to.
func WriteOptionalField[T any](w *Writer, name string, value *T, write func(T)) {
	if value != nil {
		w.Key(name)
		write(*value)
	}
}

// WriteListField writes a field with a list. It calls write for each item.
func WriteListField[T any](w *Writer, name string, list []T, write func(T)) {
	w.Key(name)
	WriteList(w, list, write)
}

// WriteItemsField writes a field with a list, whose items write themselves.
func WriteItemsField[T any](w *Writer, name string, list []T, write func(T, *Writer)) {
	w.Key(name)
	if list == nil {
		w.Null()
		return
	}
	if !w.begin('[') {
		return
	}
	for i := range list {
		w.separate('[')
		write(list[i], w)
	}
	w.end(']')
}

// WriteMapField writes a field with a map. It calls write for each value.
func WriteMapField[T any](w *Writer, name string, m map[string]T, write func(T)) {
	w.Key(name)
	WriteMap(w, m, write)
}
