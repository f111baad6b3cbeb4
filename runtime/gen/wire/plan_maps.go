package wire

import (
	"reflect"
	"time"
	"unsafe"

	"github.com/google/uuid"
)

// direct writes and reads maps of one type without reflection.
type direct struct {
	write func(w *Writer, at unsafe.Pointer)
	read  func(r *Reader, at unsafe.Pointer)
}

// directs has those for maps with values of built-in types.
var directs = map[reflect.Type]*direct{}

func init() {
	directly((*Writer).String, (*Reader).String)
	directly((*Writer).Bool, (*Reader).Bool)
	directly((*Writer).Int, (*Reader).Int)
	directly((*Writer).Int32, (*Reader).Int32)
	directly((*Writer).Int64, (*Reader).Int64)
	directly((*Writer).Uint64, (*Reader).Uint64)
	directly((*Writer).Float64, (*Reader).Float64)
	directly((*Writer).Bytes, (*Reader).Bytes)
	directly((*Writer).JSON, (*Reader).JSON)
	directly[time.Time]((*Writer).Time, (*Reader).Time)
	directly[uuid.UUID]((*Writer).UUID, (*Reader).UUID)
}

// directly adds those for maps with values of a type.
func directly[V any](write func(*Writer, V), read func(*Reader) V) {
	directs[reflect.TypeFor[map[string]V]()] = &direct{
		write: func(w *Writer, at unsafe.Pointer) { writeMap(w, *(*map[string]V)(at), write) },
		read:  func(r *Reader, at unsafe.Pointer) { *(*map[string]V)(at) = readMap(r, read) },
	}
}
