// Package glob matches dotted event names against patterns. It is the one
// matcher of busgen: subscriptions, catalogue policies and the command line
// all mean the same by a pattern.
//
// Names and patterns are split into segments at the dots. A pattern's segment
// is literal text or a `*`, and what a `*` stands for depends on where it is:
//
//   - alone: every name
//     order.*         at the end: one or more segments (order.placed, order.line.added)
//     order.*.shipped elsewhere: exactly one segment (order.123.shipped)
//
// There are no other wildcards. [Parse] rejects whatever would look like one,
// so that a mistake is an error and not a pattern that never matches.
package glob

import (
	"cmp"
	"strings"
)

// Pattern is a parsed pattern. The zero Pattern matches nothing; get others
// from [Parse]. Patterns are comparable values and safe for concurrent use.
type Pattern struct {
	text      string
	segments  int
	wildcards int
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Literal reports whether p has no wildcard and so matches one name only.
func (p Pattern) Literal() bool { return p.wildcards == 0 }

// Match reports whether name is one of those that p stands for. It does not
// allocate.
func (p Pattern) Match(name string) bool {
	if p.wildcards == 0 {
		return p.text != "" && name == p.text
	}
	pattern, more := p.text, true
	for more {
		var want, have string
		want, pattern, more = strings.Cut(pattern, ".")
		if want == "*" && !more {
			return wellFormed(name)
		}
		var nameGoesOn bool
		have, name, nameGoesOn = strings.Cut(name, ".")
		if have == "" || want != "*" && want != have || more != nameGoesOn {
			return false
		}
	}
	return true
}

// wellFormed reports whether name has segments, none of them empty.
func wellFormed(name string) bool {
	return name != "" && name[0] != '.' && name[len(name)-1] != '.' && !strings.Contains(name, "..")
}

// Compare orders patterns by how specific they are: it returns a positive
// number when a is more specific than b, a negative one when b is, and 0 for a
// tie. More literal segments are more specific; among equals, fewer wildcards.
func Compare(a, b Pattern) int {
	return cmp.Or(
		cmp.Compare(a.segments-a.wildcards, b.segments-b.wildcards),
		cmp.Compare(b.wildcards, a.wildcards),
	)
}

// Set is a set of patterns. It stands for the names that at least one of them stands for.
type Set []Pattern

// ParseSet reads patterns with blanks between them. An error is a *[SyntaxError], also about a text without patterns.
func ParseSet(text string) (Set, error) {
	var set Set
	for one := range strings.FieldsSeq(text) {
		p, err := Parse(one)
		if err != nil {
			return nil, err
		}
		set = append(set, p)
	}
	if set == nil {
		_, err := Parse("")
		return nil, err
	}
	return set, nil
}

// Match reports whether name is one of those that s stands for. It does not allocate.
func (s Set) Match(name string) bool {
	for _, p := range s {
		if p.Match(name) {
			return true
		}
	}
	return false
}

// String returns the patterns with blanks between them.
func (s Set) String() string {
	texts := make([]string, len(s))
	for i, p := range s {
		texts[i] = p.text
	}
	return strings.Join(texts, " ")
}

// Literal reports whether s has no wildcard and one pattern, and so matches one name only.
func (s Set) Literal() bool { return len(s) == 1 && s[0].Literal() }
