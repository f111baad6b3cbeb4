package plainjson

import (
	"encoding/json"
	"strings"
)

// A Scanner steps through valid JSON once.
type Scanner struct {
	Rest []byte // what it has not stepped over
}

// Next moves on to the next value and returns what it is: "an object", "a list", "a string", "a number",
// "true or false" or "null". It returns "" at the end of an object or a list.
func (s *Scanner) Next() string {
	for strings.IndexByte(" \t\r\n,:", s.Rest[0]) >= 0 {
		s.Rest = s.Rest[1:]
	}
	switch s.Rest[0] {
	case '}', ']':
		return ""
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

// Value steps over the next value and returns it.
func (s *Scanner) Value() json.RawMessage {
	end := 0
	switch s.Next() {
	case "a string":
		end = endOfString(s.Rest)
	case "an object", "a list":
		end = endOfBrackets(s.Rest)
	default:
		for end < len(s.Rest) && strings.IndexByte(" \t\r\n,]}", s.Rest[end]) < 0 {
			end++
		}
	}
	value := s.Rest[:end]
	s.Rest = s.Rest[end:]
	return value
}

// endOfString returns the length of the string with which text begins.
func endOfString(text []byte) int {
	at := 1
	for ; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// endOfBrackets returns the length of the object or list with which text begins.
func endOfBrackets(text []byte) int {
	for at, depth := 0, 0; ; at++ {
		switch text[at] {
		case '"':
			at += endOfString(text[at:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
}

// Entries visits the entries of the next value, an object. visit gets the key as it is written, with its
// quotation marks, and steps over the value.
func (s *Scanner) Entries(visit func(key json.RawMessage)) {
	s.inside(func(int) { visit(s.Value()) })
}

// Items visits the items of the next value, a list. visit steps over the item.
func (s *Scanner) Items(visit func(i int)) { s.inside(visit) }

func (s *Scanner) inside(visit func(i int)) {
	s.Next()
	s.Rest = s.Rest[1:]
	for i := 0; s.Next() != ""; i++ {
		visit(i)
	}
	s.Rest = s.Rest[1:]
}
