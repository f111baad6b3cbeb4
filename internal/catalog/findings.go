package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Finding is one thing that is wrong in a catalogue.
type Finding struct {
	Place
	Rule    Rule
	Message string // what is wrong, and with which thing
	Hint    string // what to do about it; may be empty
	Related []Related
}

// Related is another place that a finding is about, such as the first of two
// equal keys.
type Related struct {
	Place
	Message string // what is there
}

// Place is a piece of one line of a catalogue.
type Place struct {
	Pos    Position
	Length int    // in runes, at least 1
	Line   string // the whole line, without its end; empty if it is not to be shown
}

// String formats f in one line: file:line:col: message; hint [rule].
func (f *Finding) String() string {
	text := f.Message
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return fmt.Sprintf("%s: %s [%s]", f.Pos, text, f.Rule)
}

// Findings are all that is wrong in a catalogue, by file, in the order of their
// positions and none of them twice.
type Findings []*Finding

// Error returns one line per finding.
func (fs Findings) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// tidy sorts the findings and drops repetitions.
func (fs Findings) tidy(order func(a, b Position) int) Findings {
	for _, f := range fs {
		f.Hint = visible(f.Hint)
	}
	slices.SortStableFunc(fs, func(a, b *Finding) int {
		return cmp.Or(
			order(a.Pos, b.Pos),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.CompactFunc(fs, func(a, b *Finding) bool { return a.String() == b.String() })
}

// report adds a finding and returns it, for a hint or related places.
func (r *reader) report(at Place, rule Rule, format string, args ...any) *Finding {
	f := &Finding{Place: at, Rule: rule, Message: visible(fmt.Sprintf(format, args...))}
	r.findings = append(r.findings, f)
	return f
}

// see adds a related place.
func (f *Finding) see(at Place, format string, args ...any) *Finding {
	f.Related = append(f.Related, Related{Place: at, Message: visible(fmt.Sprintf(format, args...))})
	return f
}

// visible escapes what cannot be seen, or makes a terminal do things: a message
// may repeat what is written in a catalogue.
func visible(text string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
