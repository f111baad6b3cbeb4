package glob

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says why a text is not a pattern or not an event name.
type SyntaxError struct {
	Text   string // what was parsed
	Offset int    // in bytes: where in Text the problem begins
	Reason string // what is wrong and what to write instead
}

// Error names the text and the reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%q: %s", e.Text, e.Reason) }

// Parse reads a pattern. Its segments are `*` or what [ValidWire] allows. An error
// is a *[SyntaxError].
func Parse(pattern string) (Pattern, error) {
	p := Pattern{text: pattern}
	err := eachSegment(pattern, "pattern", func(segment string) (int, string) {
		p.segments++
		if segment == "*" {
			p.wildcards++
			return 0, ""
		}
		if i := strings.IndexByte(segment, '*'); i >= 0 {
			return i, fmt.Sprintf("`*` must be a whole segment, as in \"order.*\"; %q mixes it with other text", segment)
		}
		return firstOutside(segment, wireRune, "a pattern's segments are `*` or made of letters, digits and signs other than "+patternSigns)
	})
	if err != nil {
		return Pattern{}, err
	}
	return p, nil
}

// MustParse is [Parse] for patterns known to be right; it panics on others.
func MustParse(pattern string) Pattern {
	p, err := Parse(pattern)
	if err != nil {
		panic("glob: " + err.Error())
	}
	return p
}

// ValidName returns nil if name can be an event's name: segments that start
// with a lower-case letter and go on with lower-case letters, digits and `_`,
// joined by dots. An error is a *[SyntaxError].
func ValidName(name string) error {
	return eachSegment(name, "event name", func(segment string) (int, string) {
		if at, reason := firstOutside(segment, nameByte, nameRule); reason != "" {
			return at, reason
		}
		if c := segment[0]; c < 'a' || c > 'z' {
			return 0, fmt.Sprintf("segment %q must start with a letter", segment)
		}
		return 0, ""
	})
}

// MaxWire is how many bytes a name on the wire may have.
const MaxWire = 200

// ValidWire returns nil if name can be the name of an event on the wire, that is, the type under which it is
// stored. These are the texts that a pattern can say: segments of letters, marks, digits, punctuation and symbols of
// any language, emoji included, joined by dots. There are no blanks, because they separate patterns, none of
// the characters in patternSigns, and no `$` at the beginning, which is the mark of the bus's own events. An
// error is a *[SyntaxError].
func ValidWire(name string) error {
	switch {
	case len(name) > MaxWire:
		return &SyntaxError{name, MaxWire, fmt.Sprintf("the name has %d bytes, the limit is %d", len(name), MaxWire)}
	case strings.HasPrefix(name, "$"):
		return &SyntaxError{name, 0, "a name on the wire does not begin with `$`, which marks the events of the bus itself"}
	case !utf8.ValidString(name):
		return &SyntaxError{name, 0, "the name is not valid UTF-8"}
	}
	return eachSegment(name, "name on the wire", func(segment string) (int, string) {
		return firstOutside(segment, wireRune, "a name on the wire has letters, digits and signs, but no blanks, and none of "+patternSigns)
	})
}

// patternSigns lists what no name on the wire has: what looks like a pattern, what separates names in lists of the
// command line, and quotes, which these lists take for their own.
const patternSigns = "* ? [ ] { } , \" \\"

func wireRune(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) && !strings.ContainsRune(patternSigns, r) && r != utf8.RuneError
}

const nameRule = "event names are made of lower-case letters, digits and `_`, with dots between segments"

// eachSegment calls check for every segment of text, until it gives a reason;
// at is the offset in the segment to which that reason belongs.
func eachSegment(text, what string, check func(segment string) (at int, reason string)) error {
	if text == "" {
		return &SyntaxError{Reason: "the " + what + " is empty"}
	}
	offset := 0
	for segment := range strings.SplitSeq(text, ".") {
		if segment == "" {
			return &SyntaxError{text, offset, "the " + what + " has an empty segment: remove the extra dot"}
		}
		if at, reason := check(segment); reason != "" {
			return &SyntaxError{text, offset + at, reason}
		}
		offset += len(segment) + 1
	}
	return nil
}

// firstOutside finds the first character of segment that ok refuses.
func firstOutside(segment string, ok func(rune) bool, rule string) (at int, reason string) {
	for i, r := range segment {
		if !ok(r) {
			return i, fmt.Sprintf("character %q is not allowed: %s", r, rule)
		}
	}
	return 0, ""
}

func nameByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_'
}
