package wire

import (
	"bytes"
	"encoding/json"
)

// JSON checks raw and writes it without blanks. It writes null for nil.
func (w *Writer) JSON(raw json.RawMessage) {
	if raw == nil {
		w.Null()
		return
	}
	encoded, err := json.Marshal(raw)
	if err != nil {
		w.giveUp()
		return
	}
	w.buf = append(w.buf, encoded...)
}

// JSON reads a value of any kind and returns a copy of its text.
func (r *Reader) JSON() json.RawMessage {
	start := r.at
	r.skipValue()
	raw := r.data[start:r.at]
	if r.gaveUp || !json.Valid(raw) {
		r.giveUp()
		return nil
	}
	return bytes.Clone(raw)
}

// skipValue moves to the end of the value, if it is valid.
func (r *Reader) skipValue() {
	for open := 0; r.at < len(r.data) && r.depth+open <= maxDepth; {
		switch r.data[r.at] {
		case '{', '[':
			open++
			r.at++
		case '}', ']':
			open--
			r.at++
		case '"':
			r.skipText()
		default:
			r.skipPlain()
		}
		if open <= 0 {
			return
		}
	}
	r.giveUp()
}

// skipText moves past a text.
func (r *Reader) skipText() {
	for r.at++; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case '"':
			r.at++
			return
		case '\\':
			r.at++
		}
	}
	r.giveUp()
}

// skipPlain moves past a number or a word, or else past one byte.
func (r *Reader) skipPlain() {
	rest := r.data[r.at:]
	if end := bytes.IndexAny(rest, "{}[],:\" \t\r\n"); end >= 0 {
		rest = rest[:max(end, 1)]
	}
	r.at += len(rest)
}
