// Package plainjson finds what decoders let pass and nobody means: JSON in which
// a key is there twice, or whose texts are not valid Unicode. Of two values one
// would be lost, and of such a text some characters.
//
// Everything that judges a payload which a person has written asks it, so that
// all of them refuse the same.
package plainjson

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Problem is one thing that is wrong.
type Problem struct {
	Path    string // lines[2].price.currency; empty for the document as a whole
	Message string
}

// Check returns what is wrong with a document, in its order. It is no judge of
// the syntax: of what is not JSON it returns nothing.
func Check(document []byte) []Problem {
	if !json.Valid(document) {
		return nil
	}
	w := walker{rest: document}
	w.value("")
	return w.problems
}

// walker goes through JSON that is valid.
type walker struct {
	rest     []byte
	problems []Problem
}

func (w *walker) report(path, message string) {
	w.problems = append(w.problems, Problem{path, message})
}

// next passes over white space, and returns the byte that follows.
func (w *walker) next() byte {
	for {
		switch c := w.rest[0]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			w.rest = w.rest[1:]
		default:
			return c
		}
	}
}

func (w *walker) value(path string) {
	switch w.next() {
	case '{':
		w.object(path)
	case '[':
		w.rest = w.rest[1:]
		for i := 0; w.next() != ']'; i++ {
			w.value(path + "[" + strconv.Itoa(i) + "]")
		}
		w.rest = w.rest[1:]
	case '"':
		if !sound(w.text()) {
			w.report(path, "is not valid UTF-8")
		}
	default: // a number, true, false or null
		end := 1
		for end < len(w.rest) && !isDelimiter(w.rest[end]) {
			end++
		}
		w.rest = w.rest[end:]
	}
}

func (w *walker) object(path string) {
	w.rest = w.rest[1:]
	seen := map[string]bool{}
	for w.next() != '}' {
		raw := w.text()
		var key string
		json.Unmarshal(raw, &key) // it is a text
		at := key
		if path != "" {
			at = path + "." + key
		}
		if !sound(raw) {
			w.report(at, "the key is not valid UTF-8")
		}
		if seen[key] {
			w.report(at, "is there twice")
		}
		seen[key] = true
		w.value(at)
	}
	w.rest = w.rest[1:]
}

// text takes a text with its quotation marks.
func (w *walker) text() []byte {
	end := 1
	for w.rest[end] != '"' {
		if w.rest[end] == '\\' {
			end++
		}
		end++
	}
	text := w.rest[:end+1]
	w.rest = w.rest[end+1:]
	return text
}

// sound reports whether a text says what it says: its bytes are UTF-8, and every
// escaped half of a character has its other half.
func sound(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		unit := unitAt(text, i+1)
		i += 4
		switch {
		case 0xDC00 <= unit && unit < 0xE000:
			return false
		case 0xD800 <= unit && unit < 0xDC00:
			if i+2 >= len(text) || text[i+1] != '\\' || text[i+2] != 'u' {
				return false
			}
			if low := unitAt(text, i+3); low < 0xDC00 || low >= 0xE000 {
				return false
			}
			i += 6
		}
	}
	return true
}

// unitAt reads four hexadecimal digits.
func unitAt(text []byte, at int) uint64 {
	unit, _ := strconv.ParseUint(string(text[at:at+4]), 16, 16)
	return unit
}

func isDelimiter(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', ']', '}':
		return true
	}
	return false
}
