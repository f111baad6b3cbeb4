package wire

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// maxDepth is how deep values may be nested. A Writer or Reader gives up below it, so a
// value that contains itself gets the error of encoding/json.
const maxDepth = 1000

// Writer writes one JSON value. The zero Writer is ready to use. It is not safe
// for concurrent use.
//
// A Writer gives up where encoding/json would return an error, and at the few values that
// only encoding/json can write. From then on Finish returns false, and further calls have
// no effect on the result.
type Writer struct {
	buf    []byte
	keys   []string // of the maps that are being written, the outermost first
	free   any      // a free: what it leads to would be compiled with all code that names a Writer
	depth  int
	gaveUp bool
}

// Finish returns the JSON, in memory that belongs to the Writer. It returns false if the
// Writer has given up.
func (w *Writer) Finish() (encoded []byte, ok bool) { return w.buf, !w.gaveUp }

// reset makes w ready for the next value, in the memory of the last one.
func (w *Writer) reset() { w.buf, w.depth, w.gaveUp = w.buf[:0], 0, false }

// set replaces buf by what the caller has appended to. That is nearly always in the same memory: then the pointer to it
// is not written again, of which the garbage collector would be told.
func (w *Writer) set(buf []byte) {
	if cap(buf) == cap(w.buf) { // append never moves to as much memory
		w.buf = w.buf[:len(buf)]
	} else {
		w.buf = buf
	}
}

func (w *Writer) giveUp() { w.gaveUp = true }

// deeper counts an object or a list that begins. It returns false if that is too deep.
func (w *Writer) deeper() bool {
	if w.depth++; w.depth > maxDepth {
		w.giveUp()
	}
	return w.depth <= maxDepth
}

// begin opens an object or a list. It returns false if that is too deep.
func (w *Writer) begin(bracket byte) bool {
	if !w.deeper() {
		return false
	}
	w.buf = append(w.buf, bracket)
	return true
}

func (w *Writer) end(bracket byte) {
	w.depth--
	w.buf = append(w.buf, bracket)
}

// BeginObject opens an object. It returns false if the object is too deep, and the Writer has
// given up: a value that may contain itself must not go on then.
func (w *Writer) BeginObject() bool { return w.begin('{') }

// EndObject closes the object that was opened last.
func (w *Writer) EndObject() { w.end('}') }

// Key begins the next field of an object. It writes name as it is between the quotes: a
// name in which encoding/json escapes something must have these escapes.
//
//go:noinline
func (w *Writer) Key(name string) { w.key(name) }

func (w *Writer) key(name string) {
	w.separate('{')
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, '"', ':')
}

// separate writes a comma, unless the next value is the first after its bracket. No
// value ends with an opening bracket.
func (w *Writer) separate(bracket byte) {
	if last := len(w.buf) - 1; last >= 0 && w.buf[last] != bracket {
		w.buf = append(w.buf, ',')
	}
}

// Null writes null.
func (w *Writer) Null() { w.buf = append(w.buf, "null"...) }

// Bool writes true or false.
func (w *Writer) Bool(b bool) { w.set(strconv.AppendBool(w.buf, b)) }

// Int writes a whole number.
func (w *Writer) Int(n int) { w.Int64(int64(n)) }

// Int32 writes a whole number.
func (w *Writer) Int32(n int32) { w.Int64(int64(n)) }

// Int64 writes a whole number.
func (w *Writer) Int64(n int64) { w.set(strconv.AppendInt(w.buf, n, 10)) }

// Uint64 writes a whole number.
func (w *Writer) Uint64(n uint64) { w.set(strconv.AppendUint(w.buf, n, 10)) }

// Float64 writes a number with the fewest digits that restore f, as ES6 does: with an
// exponent if it is very small or large.
func (w *Writer) Float64(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.giveUp()
		return
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.set(strconv.AppendFloat(w.buf, f, format, -1, 64))
	if n := len(w.buf); format == 'e' && string(w.buf[n-4:n-1]) == "e-0" {
		w.buf = append(w.buf[:n-2], w.buf[n-1]) // e-09 is e-9
	}
}

// String writes a string.
func (w *Writer) String(s string) { w.set(appendString(w.buf, s)) }

// Bytes writes b as a string in base64, or null for nil.
func (w *Writer) Bytes(b []byte) {
	if b == nil {
		w.Null()
		return
	}
	w.buf = append(w.buf, '"')
	w.set(base64.StdEncoding.AppendEncode(w.buf, b))
	w.buf = append(w.buf, '"')
}

// Time writes a moment in RFC 3339, with nanoseconds if they are not zero.
func (w *Writer) Time(t time.Time) {
	if buf, ok := appendMoment(w.buf, t); ok {
		w.set(buf)
		return
	}
	text, err := t.AppendText(append(w.buf, '"'))
	if err != nil {
		w.giveUp()
		return
	}
	w.set(append(text, '"'))
}

// UUID writes a UUID in its usual form.
func (w *Writer) UUID(id uuid.UUID) { w.set(appendUUID(w.buf, &id)) }
