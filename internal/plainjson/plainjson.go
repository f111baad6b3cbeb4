// Package plainjson steps through JSON, writes it, and finds what decoders accept although no author means
// it: duplicate keys, of which one value would be lost, and strings that are not valid Unicode, which would
// lose characters. All checks of payloads that a person has written use [Check], so that all refuse the
// same.
package plainjson

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Problem is one thing that is wrong with JSON.
type Problem struct {
	Path    string // lines[2].price.currency; empty for the document as a whole
	Message string
}

// String formats the problem as path: message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Join returns the path of a field of the value at path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// most is how many problems Check returns at most: a document of strangers may have millions.
const most = 100

// Check returns the duplicate keys and the strings that are not Unicode, in the order of the document, the first
// hundred of them. It does not check the syntax: for a document that is not JSON it returns nothing.
func Check(document []byte) []Problem {
	if !json.Valid(document) {
		return nil
	}
	c := checker{scan: Scanner{document}}
	c.value()
	return c.problems
}

type checker struct {
	scan     Scanner
	at       []step // from the document to the value
	problems []Problem
}

// step is one step of a path. Paths are not made before they are needed, because a document may have a long one
// for each of a million values.
type step struct {
	key  string
	item int // of a list
	list bool
}

func (c *checker) report(message string) {
	if len(c.problems) == most {
		return
	}
	path := ""
	for _, s := range c.at {
		if s.list {
			path += "[" + strconv.Itoa(s.item) + "]"
		} else {
			path = Join(path, s.key)
		}
	}
	c.problems = append(c.problems, Problem{path, message})
}

func (c *checker) value() {
	depth := len(c.at)
	switch c.scan.Next() {
	case "an object":
		seen := map[string]bool{}
		c.scan.Entries(func(raw json.RawMessage) {
			key := Unquote(raw)
			c.at = append(c.at[:depth], step{key: key})
			if !sound(raw) {
				c.report("the key is not valid UTF-8")
			}
			if seen[key] {
				c.report("is there twice")
			}
			seen[key] = true
			c.value()
		})
	case "a list":
		c.scan.Items(func(i int) {
			c.at = append(c.at[:depth], step{item: i, list: true})
			c.value()
		})
	case "a string":
		if !sound(c.scan.Value()) {
			c.report("is not valid UTF-8")
		}
	default:
		c.scan.Value()
	}
	c.at = c.at[:depth]
}

// sound reports whether a string is Unicode: its bytes are UTF-8, and every escaped half of a character has
// its other half.
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
