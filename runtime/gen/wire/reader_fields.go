package wire

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Each method for a field reads a value of its kind into a variable, if the field is the next one
// of the object, as [Reader.Key] tells. Otherwise it does not move, and leaves the variable alone.

// StringField reads a field with a string.
func (r *Reader) StringField(name string, into *string) {
	if r.Key(name) {
		*into = r.String()
	}
}

// BoolField reads a field with true or false.
func (r *Reader) BoolField(name string, into *bool) {
	if r.Key(name) {
		*into = r.Bool()
	}
}

// IntField reads a field with a whole number.
func (r *Reader) IntField(name string, into *int) {
	if r.Key(name) {
		*into = r.Int()
	}
}

// Int32Field reads a field with a whole number.
func (r *Reader) Int32Field(name string, into *int32) {
	if r.Key(name) {
		*into = r.Int32()
	}
}

// Int64Field reads a field with a whole number.
func (r *Reader) Int64Field(name string, into *int64) {
	if r.Key(name) {
		*into = r.Int64()
	}
}

// Uint64Field reads a field with a whole number.
func (r *Reader) Uint64Field(name string, into *uint64) {
	if r.Key(name) {
		*into = r.Uint64()
	}
}

// Float64Field reads a field with a number.
func (r *Reader) Float64Field(name string, into *float64) {
	if r.Key(name) {
		*into = r.Float64()
	}
}

// BytesField reads a field with bytes in base64.
func (r *Reader) BytesField(name string, into *[]byte) {
	if r.Key(name) {
		*into = r.Bytes()
	}
}

// TimeField reads a field with a moment.
func (r *Reader) TimeField(name string, into *time.Time) {
	if r.Key(name) {
		*into = r.Time()
	}
}

// UUIDField reads a field with a UUID.
func (r *Reader) UUIDField(name string, into *uuid.UUID) {
	if r.Key(name) {
		*into = r.UUID()
	}
}

// JSONField reads a field with JSON of any kind.
func (r *Reader) JSONField(name string, into *json.RawMessage) {
	if r.Key(name) {
		*into = r.JSON()
	}
}

// ReadOptionalField reads a field with a value or null, as [ReadOptional] does.
func ReadOptionalField[T any](r *Reader, name string, into **T, read func() T) {
	if r.Key(name) {
		*into = ReadOptional(r, read)
	}
}

// ReadItemField reads a field with null, or with a value that reads itself.
func ReadItemField[T any](r *Reader, name string, into **T, read func(*T, *Reader)) {
	if !r.Key(name) || r.null() {
		return
	}
	*into = new(T)
	read(*into, r)
}

// ReadListField reads a field with a list, as [ReadList] does.
func ReadListField[T any](r *Reader, name string, into *[]T, read func() T) {
	if r.Key(name) {
		*into = ReadList(r, read)
	}
}

// ReadItemsField reads a field with null, or with a list whose items read themselves.
func ReadItemsField[T any](r *Reader, name string, into *[]T, read func(*T, *Reader)) {
	if !r.Key(name) || r.null() || !r.begin('[') {
		return
	}
	list := []T{}
	for r.next('[', ']') {
		var zero T
		list = append(list, zero)
		read(&list[len(list)-1], r)
	}
	*into = list
}

// ReadMapField reads a field with a map, as [ReadMap] does.
func ReadMapField[T any](r *Reader, name string, into *map[string]T, read func() T) {
	if r.Key(name) {
		*into = ReadMap(r, read)
	}
}
