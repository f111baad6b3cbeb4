package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is one problem in one place.
type Finding struct {
	Place
	Rule     *Rule
	Severity Severity
	Message  string // what is wrong, and with which thing
	Hint     string // what to do about it; may be empty
	Related  []Related
	// Subject names the event, the type or the pattern of a policy that the finding is about. It may be empty.
	Subject string
	// Direction says who cannot read whose events. Only findings about stored events have one.
	Direction Direction
	// Key identifies a finding about stored events, so that the catalogue can accept it: the rule, the
	// event or type, the version of the payload, the path inside. It stays the same when lines move.
	Key string
}

// Related is another place that a finding is about, such as the first of two equal keys.
type Related struct {
	Place
	Message string // what is there
}

// See adds a related place and returns f. It escapes characters of the message that cannot be printed.
func (f *Finding) See(at Place, format string, args ...any) *Finding {
	f.Related = append(f.Related, Related{Place: at, Message: Visible(fmt.Sprintf(format, args...))})
	return f
}

// With returns a copy of f with another severity.
func (f *Finding) With(s Severity) *Finding {
	other := *f
	other.Severity = s
	return &other
}

// String formats f in one line: file:line:col: severity: message; hint [rule]. A finding of the Reader
// has no severity there, because it is always an error. A finding with a key has the key in place of
// the rule.
func (f *Finding) String() string {
	severity := ""
	if f.Rule.Tool != Reader {
		severity = f.Severity.String() + ": "
	}
	return fmt.Sprintf("%s: %s%s [%s]", f.Pos, severity, f.text(), f.name())
}

// text is the message with the hint.
func (f *Finding) text() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint
}

// name is the key, which begins with the id of the rule, or else the id.
func (f *Finding) name() string { return cmp.Or(f.Key, f.Rule.ID) }

// Findings is a list of findings. As an error it has a line for each.
type Findings []*Finding

// Error returns one line per finding.
func (fs Findings) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Worst returns the highest severity, and Off if there are no findings.
func (fs Findings) Worst() Severity {
	worst := Off
	for _, f := range fs {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Count returns how many findings have a severity.
func (fs Findings) Count(s Severity) int {
	n := 0
	for _, f := range fs {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Sort sorts findings by position, with files in the given order. Findings at the same position keep
// their order.
func (fs Findings) Sort(files []string) {
	slices.SortStableFunc(fs, func(a, b *Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(files, a.Pos.File), slices.Index(files, b.Pos.File)),
			a.Pos.Compare(b.Pos),
		)
	})
}

// Tidy sorts findings by position, rule and message, with files in the given order, and returns them
// without repetitions.
func (fs Findings) Tidy(files []string) Findings {
	slices.SortStableFunc(fs, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Rule.ID, b.Rule.ID), cmp.Compare(a.Message, b.Message))
	})
	fs.Sort(files)
	return slices.CompactFunc(fs, func(a, b *Finding) bool { return a.String() == b.String() })
}
