package wire

import (
	"encoding/base64"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/google/uuid"
)

// Reader reads one JSON value in the form in which a [Writer] writes it: no
// blanks, the fields of each object in their order, each key spelt exactly,
// each value of the expected kind. It is not safe for concurrent use.
//
// At anything else, valid JSON or not, it gives up: Finish returns false, and the values
// read so far are useless. The caller must then read the whole value with encoding/json,
// into another variable.
type Reader struct {
	data   []byte
	at     int // the next byte of data; len(data) once the Reader has given up
	depth  int
	gaveUp bool
	texts  []byte // memory that short texts share; nil if each has its own
}

// sharing is how many bytes the texts of several values share, which are then allocated once. A program that keeps
// one of these texts keeps the memory of all, so it is not much, and a text of more than an eighth of it has memory
// of its own.
const sharing = 512

// NewReader returns a Reader of data. It does not change data, and values other than
// those of [Reader.Text] do not refer to it.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Finish reports whether the Reader has read the same as encoding/json would. It returns
// false if the Reader has given up, or if data is left.
func (r *Reader) Finish() bool { return !r.gaveUp && r.at == len(r.data) }

func (r *Reader) giveUp() { r.gaveUp, r.at = true, len(r.data) }

// Check makes the Reader give up if err is not nil. It is for functions that parse the
// result of Text.
func (r *Reader) Check(err error) {
	if err != nil {
		r.giveUp()
	}
}

// skip moves past c if it is next.
func (r *Reader) skip(c byte) bool {
	if r.at < len(r.data) && r.data[r.at] == c {
		r.at++
		return true
	}
	return false
}

// expect moves past c, which must be next.
func (r *Reader) expect(c byte) bool {
	ok := r.skip(c)
	if !ok {
		r.giveUp()
	}
	return ok
}

// skipWord moves past word if it is next.
func (r *Reader) skipWord(word string) bool {
	if rest := r.data[r.at:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
		r.at += len(word)
		return true
	}
	return false
}

// begin opens an object or a list.
func (r *Reader) begin(bracket byte) bool {
	if r.depth++; r.depth > maxDepth {
		r.giveUp()
	}
	return r.expect(bracket)
}

// next moves to the next item inside brackets. It returns false after the closing
// bracket.
func (r *Reader) next(opening, closing byte) bool {
	switch {
	case r.skip(closing):
		r.depth--
		return false
	case r.at == 0 || r.data[r.at-1] == opening: // the first
		return !r.gaveUp
	}
	return r.expect(',')
}

// BeginObject opens an object.
func (r *Reader) BeginObject() { r.begin('{') }

// EndObject closes the object that was opened last.
func (r *Reader) EndObject() {
	r.expect('}')
	r.depth--
}

// Key moves to the value of the field name, if that is the next field of the object. A
// name has the escapes with which [Writer.Key] writes it.
// Otherwise it does not move and returns false.
func (r *Reader) Key(name string) bool {
	rest := r.data[r.at:]
	if r.at == 0 || len(rest) < len(name)+len(`"":`) {
		return false
	}
	comma := 0
	if r.data[r.at-1] != '{' {
		if rest[0] != ',' {
			return false
		}
		comma = 1
		rest = rest[1:]
	}
	end := 1 + len(name)
	if len(rest) < end+2 || rest[0] != '"' || string(rest[1:end]) != name || rest[end] != '"' || rest[end+1] != ':' {
		return false
	}
	r.at += comma + end + 2
	return true
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	switch {
	case r.skipWord("true"):
		return true
	case !r.skipWord("false"):
		r.giveUp()
	}
	return false
}

// String reads a string.
func (r *Reader) String() string {
	quoted, escaped := r.quoted()
	switch {
	case escaped:
		return r.unescape(quoted)
	case r.texts == nil || len(quoted) == 0 || len(quoted) > sharing/8:
		return string(quoted)
	case len(quoted) > cap(r.texts)-len(r.texts):
		r.texts = make([]byte, 0, sharing)
	}
	start := len(r.texts)
	r.texts = r.texts[:start+len(quoted)] // bytes that are there are never written again
	copy(r.texts[start:], quoted)
	return unsafe.String(&r.texts[start], len(quoted))
}

func (r *Reader) unescape(quoted []byte) string {
	text, ok := unescape(quoted)
	if !ok {
		r.giveUp()
	}
	return text
}

// Text reads a string without escapes. The result is a part of the data of the Reader:
// do not keep or change it.
func (r *Reader) Text() []byte {
	text, escaped := r.quoted()
	if escaped {
		r.giveUp()
	}
	return text
}

// quoted moves past a string and returns the bytes between its quotes.
func (r *Reader) quoted() (text []byte, escaped bool) {
	if !r.expect('"') {
		return nil, false
	}
	data, start := r.data, r.at
	for i := start; i < len(data); {
		switch c := data[i]; {
		case bare[c]:
			i += bareLength(data[i:])
		case c == '"':
			r.at = i + 1
			return data[start:i], escaped
		case c == '\\':
			escaped = true
			i += 2
		default:
			_, size := utf8.DecodeRune(data[i:])
			if size == 1 { // a control character, or not valid UTF-8
				r.giveUp()
				return nil, false
			}
			i += size
		}
	}
	r.giveUp()
	return nil, false
}

// null moves past null if it is next.
func (r *Reader) null() bool { return r.skipWord("null") }

// Bytes reads a string in base64, or null as nil.
func (r *Reader) Bytes() []byte {
	if r.null() {
		return nil
	}
	text := r.Text()
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(decoded, text)
	if err != nil {
		r.giveUp()
	}
	return decoded[:n]
}

// Time reads a moment in RFC 3339.
func (r *Reader) Time() (t time.Time) {
	if t, length := parseMoment(r.data[r.at:]); length > 0 {
		r.at += length
		return t
	}
	r.Check(t.UnmarshalText(r.Text()))
	return t
}

// UUID reads a UUID in its usual form.
func (r *Reader) UUID() (id uuid.UUID) {
	r.readUUID(&id)
	return id
}

func (r *Reader) readUUID(id *uuid.UUID) {
	if parseUUID(r.data[r.at:], id) {
		r.at += uuidLength
		return
	}
	r.Check(id.UnmarshalText(r.Text()))
}
