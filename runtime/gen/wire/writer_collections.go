package wire

import (
	"encoding"
	"slices"
)

// WriteText writes a value as the string that its method AppendText makes. If AppendText
// returns an error, or the string needs escapes, the Writer gives up.
func WriteText[T encoding.TextAppender](w *Writer, value T) {
	w.buf = append(w.buf, '"')
	start := len(w.buf)
	text, err := value.AppendText(w.buf)
	if err != nil || !plainText(text[start:]) {
		w.giveUp()
		return
	}
	w.buf = append(text, '"')
}

// WriteList writes a list, or null for nil. It calls write for each item.
func WriteList[T any](w *Writer, list []T, write func(T)) {
	if list == nil {
		w.Null()
		return
	}
	if !w.begin('[') {
		return
	}
	for i := range list {
		w.separate('[')
		write(list[i])
	}
	w.end(']')
}

// WriteMap writes a map as an object, in the order of its keys, or null for
// nil. It calls write for each value.
func WriteMap[T any](w *Writer, m map[string]T, write func(T)) {
	writeMap(w, m, func(_ *Writer, value T) { write(value) })
}

func writeMap[T any](w *Writer, m map[string]T, write func(*Writer, T)) {
	if m == nil {
		w.Null()
		return
	}
	if !w.begin('{') {
		return
	}
	first := len(w.keys)
	for key := range m {
		w.keys = append(w.keys, key)
	}
	keys := w.keys[first:]
	slices.Sort(keys)
	for _, key := range keys {
		w.separate('{')
		w.String(key)
		w.buf = append(w.buf, ':')
		write(w, m[key])
	}
	clear(keys)
	w.keys = w.keys[:first]
	w.end('}')
}
