package breaking

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A State is a catalogue before or after a change.
type State struct {
	*catalog.Catalogue
	// Read returns the content of the catalogue's files, so that findings can show lines.
	Read func(file string) ([]byte, error)
	// Name returns the name of a file in findings. Nil keeps the name as it is.
	Name func(file string) string
}

// Compare returns what the change from one catalogue to another does to stored events, in the order of
// the new files. A finding that the new catalogue accepts is a note with the reason. The error is that of
// Read.
func Compare(before, after State) (diag.Findings, error) {
	c := &comparison{before: before.Catalogue, after: after.Catalogue, was: before.EventsByName(), is: after.EventsByName(), known: map[sameDraft]*draft{}}
	for _, e := range c.before.Events {
		c.event(e)
	}
	for _, e := range c.before.Removed {
		c.removedVersions(e)
	}
	c.newEvents()
	c.allSubscriptions()
	c.allSchedules()
	c.outside()
	c.allHeaders()
	return c.findings(before, after)
}

type comparison struct {
	before, after *catalog.Catalogue
	was, is       map[string]*catalog.Event // by name and former name
	current       *catalog.Event            // the event after the change, for advice
	seen          map[pair]diag.Direction   // the pairs of types compared for it, in which directions
	breaks        bool                      // a finding worse than a note was reported
	drafts        []*draft
	known         map[sameDraft]*draft
}

// sameDraft identifies drafts that are about the same thing.
type sameDraft struct {
	rule     string
	severity diag.Severity
	at, was  diag.Position
	message  string
}

// A pair is a type before and after the change.
type pair struct{ before, after *catalog.Type }

// A draft is an unfinished finding: another event, or another direction, may add to it.
type draft struct {
	rule      Rule
	severity  diag.Severity
	direction diag.Direction
	at, was   diag.Position // the places after and before the change
	subject   string
	key       string // the key of the finding, without the rule
	message   string
	effect    effect
	hint      string
	versioned bool     // a new version of the events would solve it
	ofType    string   // the declared type that it is in, if any
	events    []string // the events that it is about
}

// report adds a draft, or adds to a draft about the same thing.
func (c *comparison) report(d draft) {
	if d.severity == diag.Off {
		d.severity = d.rule.Severity
	}
	c.breaks = c.breaks || d.severity > diag.Note
	key := sameDraft{d.rule.ID, d.severity, d.at, d.was, d.message}
	if same := c.known[key]; same != nil {
		same.direction |= d.direction
		same.addEvent(c.current)
		return
	}
	d.addEvent(c.current)
	c.known[key] = &d
	c.drafts = append(c.drafts, &d)
}

func (d *draft) addEvent(e *catalog.Event) {
	if e != nil && !slices.Contains(d.events, e.Name.V) {
		d.events = append(d.events, e.Name.V)
	}
}

func (c *comparison) findings(before, after State) (diag.Findings, error) {
	was, is := placesIn(before), placesIn(after)
	accepted := map[string]string{}
	for _, a := range after.Accepted {
		accepted[a.Key.V] = strings.Join(strings.Fields(a.Reason.V), " ")
	}
	var all diag.Findings
	for _, d := range c.drafts {
		message := d.message
		if text := d.effect.in(d.direction); text != "" {
			message += ": " + text
		}
		f := d.rule.At(is.place(d.at), "%s", message)
		f.Severity, f.Hint, f.Subject, f.Direction = d.severity, d.advice(), d.subject, d.direction
		f.Key = d.rule.ID + " " + d.key
		if d.was.IsKnown() {
			f.See(was.place(d.was), "it was here")
		}
		if reason, ok := accepted[f.Key]; ok {
			f.Severity, f.Hint = diag.Note, "accepted: "+reason
		}
		all = append(all, f)
	}
	all.Sort(after.Files)
	return all, cmp.Or(was.Err(), is.Err())
}

// places finds places in the files of one state.
type places struct {
	*diag.Source
	name func(file string) string
}

func placesIn(s State) places {
	p := places{diag.NewSource(s.Read), s.Name}
	if p.name == nil {
		p.name = func(file string) string { return file }
	}
	return p
}

func (p places) place(at diag.Position) diag.Place {
	place := p.Place(at)
	place.Pos.File = p.name(at.File)
	return place
}

// advice returns the hint. It proposes a new version of the event if that would solve the problem.
func (d *draft) advice() string {
	switch {
	case d.versioned && d.direction == diag.Forward && d.hint == "":
		return "deploy it everywhere before something is published that old programs cannot read"
	case !d.versioned || d.direction == diag.Forward:
		return d.hint
	}
	text := "raise the version of " + someOf(d.events) + " and keep the old payload under history"
	if d.ofType != "" {
		text += ", with the old " + d.ofType + " under another name"
	}
	if d.hint == "" {
		return text
	}
	return d.hint + ", or " + text
}

// someOf lists up to three names, and counts more.
func someOf(events []string) string {
	if len(events) > 3 {
		return fmt.Sprintf("the %d events that carry it", len(events))
	}
	return strings.Join(events, ", ")
}
