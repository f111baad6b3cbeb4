package frozen

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
)

// Rule is the id of all findings.
const Rule catalog.Rule = "wire-form"

// A Result is what becomes of a file.
type Result struct {
	File     emit.File // as it should be
	Changes  []Change  // in the order of the file
	Findings catalog.Findings
}

// A Change is one that is worth knowing. New events and versions are not among them.
type Change struct {
	Version
	What string // is written differently
}

// String is a sentence without its end.
func (c Change) String() string { return c.Version.String() + ", " + c.What }

// A State is what there is of the file.
type State struct {
	Path string // its name in findings
	Text []byte // nil if there is no file
	// CheckedIn returns what version control has of the file. A line is frozen when it is
	// checked in: until then nobody can have relied on it. Nil, or a second result of
	// false, stands for no version control, and lines that are frozen at once.
	CheckedIn func() ([]byte, bool)
	// Place finds the word at a position of the catalogue.
	Place func(catalog.Position) catalog.Place
}

// Compare holds what there is against a catalogue.
func Compare(c *catalog.Catalogue, s State) Result {
	lines := Lines(c)
	r := comparison{State: s, catalogue: c, now: byVersion(lines)}
	r.File = emit.File{Name: FileName, Content: write(filepath.Base(c.File), lines)}
	if bytes.Equal(s.Text, r.File.Content) || !emit.Generated(s.Text) {
		return r.Result // or there is none; or it is a person's, and that is found when it is written
	}
	old, findings := parse(s.Path, s.Text)
	if r.Findings = findings; findings != nil {
		return r.Result
	}
	was := byVersion(old)
	for _, v := range versionsOf(old) {
		r.version(v, was[v])
	}
	return r.Result
}

type comparison struct {
	State
	Result
	catalogue *catalog.Catalogue
	now       map[Version][]Line
	asked     bool // version control
	all       bool // lines are frozen
	checkedIn map[string]bool
}

// version looks at what becomes of the lines of one version.
func (r *comparison) version(v Version, was []Line) {
	e := r.catalogue.EventNamed(v.Event)
	switch {
	case e == nil:
		r.refuse(r.catalogue.Package.Pos, was, fmt.Sprintf("event %s is gone, and events of it may be stored", v.Event),
			"if it was renamed, add aliases: ["+v.Event+"] to its new name; if not, ", Change{v, "is gone"})
		return
	case v.Number > e.Version.V:
		r.refuse(e.Name.Pos, was, fmt.Sprintf("%s, is gone, and events of it may be stored", v), "versions only rise; ", Change{v, "is gone"})
		return
	}
	if _, read := e.FieldsOf(v.Number); !read {
		r.Changes = append(r.Changes, Change{v, "is dropped"})
		return
	}
	if sameLines(was, r.now[v]) {
		return
	}
	what := Change{v, "is written differently"}
	for _, l := range was {
		problem := r.catalogue.CheckDecode(v.Event, v.Number, []byte(l.JSON))
		if problem != nil && r.refuse(placeOf(e, v.Number), []Line{l}, fmt.Sprintf("%s: what is stored could not be decoded: %s", v, reason(problem)), advice(e, v), what) {
			return
		}
	}
	if e.Name.V != v.Event {
		what.What = "is " + e.Name.V + " now"
	}
	r.change(what)
}

func (r *comparison) change(c Change) {
	if !slices.Contains(r.Changes, c) {
		r.Changes = append(r.Changes, c)
	}
}

// refuse reports the first of some lines that is frozen. If none is, there is a change.
func (r *comparison) refuse(at catalog.Position, was []Line, message, hint string, otherwise Change) bool {
	i := slices.IndexFunc(was, r.isFrozen)
	if i < 0 {
		r.change(otherwise)
		return false
	}
	r.Findings = append(r.Findings, &catalog.Finding{
		Place: r.Place(at), Rule: Rule, Message: message, Hint: hint + "generate with --accept-wire if nothing of it is stored anywhere",
		Related: []catalog.Related{{Place: was[i].at, Message: "it is stored like this"}},
	})
	return true
}

// isFrozen asks version control, once, when it matters.
func (r *comparison) isFrozen(l Line) bool {
	if !r.asked {
		r.asked, r.all, r.checkedIn = true, true, map[string]bool{}
		if r.CheckedIn != nil {
			text, kept := r.CheckedIn()
			for line := range strings.Lines(string(text)) {
				r.checkedIn[strings.TrimRight(line, "\r\n")] = true
			}
			r.all = !kept
		}
	}
	return r.all || r.checkedIn[l.at.Line]
}

// placeOf is where a version of an event is declared.
func placeOf(e *catalog.Event, version int) catalog.Position {
	for _, old := range e.History {
		if old.Version.V == version {
			return old.Version.Pos
		}
	}
	return e.Name.Pos
}

// reason is the first problem of a payload.
func reason(err error) string {
	var wrong *catalog.PayloadError
	if errors.As(err, &wrong) {
		return wrong.Problems[0].String()
	}
	return err.Error()
}

func advice(e *catalog.Event, v Version) string {
	if v.Number < e.Version.V {
		return "history says what was stored: leave it as it was; "
	}
	return "raise its version and keep the old payload under history; "
}

// sameLines compares without order, which is that of enum values and variants.
func sameLines(a, b []Line) bool {
	texts := func(lines []Line) []string {
		var all []string
		for _, l := range lines {
			all = append(all, l.JSON)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(texts(a), texts(b))
}
