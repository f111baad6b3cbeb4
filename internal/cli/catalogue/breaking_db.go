package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/runtime/event"
)

// storedRows decodes every open event and dead letter of a bus.
func storedRows(ctx context.Context, c *catalog.Catalogue, on cli.Engines, target string) (*stored, error) {
	file, err := on.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s := &stored{catalogue: c, path: cli.Shown(target), groups: map[string]*rowGroup{}}
	err = file.Unsettled(ctx, s.add)
	return s, err
}

// stored counts the rows of a file that do not decode.
type stored struct {
	catalogue *catalog.Catalogue
	path      string
	rows      int
	groups    map[string]*rowGroup
}

// rowGroup counts rows of one type and version that do not decode for one reason.
type rowGroup struct {
	eventType        string
	version          int
	reason           string
	rows, open, dead int
	first            string // the id of one of them
	unknown          bool   // the catalogue has no such event, or not in that version
	lacks            bool   // they decode, but lack fields: reason has them
}

// elementOf matches the index of a list or the key of a map in a path.
var elementOf = regexp.MustCompile(`\[(?:\d+|"(?:[^"\\]|\\.)*")\]`)

func (s *stored) add(e event.Unsettled) {
	s.rows++
	e.Type = cli.TypeOf(s.catalogue, e)
	err := payload.CheckDecode(s.catalogue, e.Type, e.Version, e.Payload)
	if err == nil {
		if lacking := payload.Lacking(s.catalogue, e.Type, e.Version, e.Payload); lacking != nil {
			for i := range lacking {
				lacking[i] = elementOf.ReplaceAllString(lacking[i], "[]")
			}
			slices.Sort(lacking)
			s.count(e, strings.Join(slices.Compact(lacking), ", "), false, true)
		}
		return
	}
	reason, unknown := err.Error(), true
	var wrong *payload.Error
	if errors.As(err, &wrong) {
		first := wrong.Problems[0]
		_, known := s.catalogue.EventNamed(e.Type).FieldsOf(e.Version)
		reason, unknown = elementOf.ReplaceAllString(first.Path, "[]")+": "+first.Message, !known
		reason = strings.TrimPrefix(reason, ": ")
	}
	s.count(e, reason, unknown, false)
}

func (s *stored) count(e event.Unsettled, reason string, unknown, lacks bool) {
	key := fmt.Sprintf("%s %d %t %s", e.Type, e.Version, lacks, reason)
	g := s.groups[key]
	if g == nil {
		g = &rowGroup{eventType: e.Type, version: e.Version, reason: reason, unknown: unknown, lacks: lacks, first: cli.ShortID(e.ID)}
		s.groups[key] = g
	}
	g.rows++
	g.open += e.Open
	g.dead += e.Dead
}

// findings returns a finding for each group, at the event in the catalogue.
func (s *stored) findings() diag.Findings {
	source := diag.NewSource(parse.Disk{}.ReadFile)
	var all diag.Findings
	for _, g := range slices.SortedFunc(maps.Values(s.groups), func(a, b *rowGroup) int {
		return cmp.Or(strings.Compare(a.eventType, b.eventType), cmp.Compare(a.version, b.version), strings.Compare(a.reason, b.reason))
	}) {
		at := s.catalogue.Package.Pos
		if e := s.catalogue.EventNamed(g.eventType); e != nil {
			at = e.Name.Pos
		}
		rule, problem := rules.StoredRows, "cannot be decoded: "
		if g.lacks {
			rule, problem = rules.StoredFields, "is read with zero values in the place of what it lacks: "
			if g.rows > 1 {
				problem = "are read with zero values in the place of what they lack: "
			}
		}
		f := rule.At(source.Place(at), "%s of %s, version %d, in %s (%s, %s; such as %s) %s%s",
			terminal.Counted(g.rows, "row"), terminal.Clean(g.eventType), g.version, s.path,
			cli.OpenDeliveries(g.open), terminal.Counted(g.dead, "dead letter"), g.first, problem, g.reason)
		f.Hint, f.Subject, f.Direction = g.hint(), g.eventType, diag.Backward
		all = append(all, f)
	}
	return all
}

func (g *rowGroup) hint() string {
	if g.lacks {
		return "raise the version and keep the payload that they have under history, or make the field optional or give it a default"
	}
	if g.unknown {
		return "settle them with a program that knows it, or keep it in the catalogue: an event under aliases, a version under history"
	}
	return "raise the version and keep the payload that they have under history, or settle them with the old program"
}

// answer returns a line with the number of rows that do not decode.
func (s *stored) answer() string {
	n := 0
	lacking := 0
	for _, g := range s.groups {
		if g.lacks {
			lacking += g.rows
		} else {
			n += g.rows
		}
	}
	text := fmt.Sprintf("%s: all of %s decode", s.path, terminal.Counted(s.rows, "open or dead row"))
	switch {
	case n == 0 && s.rows == 1:
		text = s.path + ": the one open or dead row decodes"
	case n > 0:
		text = fmt.Sprintf("%s: %s of %s cannot be decoded", s.path, terminal.Number(n), terminal.Counted(s.rows, "open or dead row"))
	}
	if lacking > 0 {
		text += fmt.Sprintf("; %s without a field that is required", terminal.Number(lacking))
	}
	return text
}
