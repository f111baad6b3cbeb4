package payload

import (
	"bytes"
	"encoding/json"
)

// A scan steps through JSON that is valid, from its beginning to its end, once.
type scan struct {
	data []byte
	at   int
}

// next moves on to the next token and returns its kind, or "" at the end of what is around it.
func (s *scan) next() string {
	for bytes.IndexByte([]byte(" \t\r\n,:"), s.data[s.at]) >= 0 {
		s.at++
	}
	if s.data[s.at] == '}' || s.data[s.at] == ']' {
		return "" // the end of what is around it
	}
	return kindOf(s.data[s.at : s.at+1])
}

// value steps over a value and returns it.
func (s *scan) value() json.RawMessage {
	kind, start, depth := s.next(), s.at, 0
	switch kind {
	case "a string":
		s.text()
	case "an object", "a list":
		for {
			switch s.data[s.at] {
			case '"':
				s.text()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if s.at++; depth == 0 {
				return s.data[start:s.at]
			}
		}
	default:
		for s.at < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,]}"), s.data[s.at]) < 0 {
			s.at++
		}
	}
	return s.data[start:s.at]
}

// text steps over a text.
func (s *scan) text() {
	for s.at++; s.data[s.at] != '"'; s.at++ {
		if s.data[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
}

// entries visits the entries of an object. visit steps over the value.
func (s *scan) entries(visit func(key string)) {
	s.next()
	for s.at++; s.next() != ""; {
		visit(unquote(s.value()))
	}
	s.at++
}

// items visits the items of a list. visit steps over the item.
func (s *scan) items(visit func(i int)) {
	s.next()
	s.at++
	for i := 0; s.next() != ""; i++ {
		visit(i)
	}
	s.at++
}

// kindOf says what a piece of JSON is.
func kindOf(raw json.RawMessage) string {
	switch bytes.TrimSpace(raw)[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}
