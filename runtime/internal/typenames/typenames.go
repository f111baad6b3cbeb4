// Package typenames decides what event types are called in a log whose programs have
// renamed some of them, and which types a subscription's pattern matches. It is
// arithmetic on names; engines keep the rows.
package typenames

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Row is what a log keeps of an event type: one row for each name under which events
// were published, and each version of their payloads. Rows with the same Name are one
// event type.
type Row struct {
	ID      int64
	Name    string // what the type is called by the catalogue that was opened last
	Written string // what it was called when the events of this row were published
	Version int    // of their payloads
}

// Key is what is published: a type as a program calls it, and the version of its
// payload.
type Key struct {
	Name    string
	Version int
}

// All lists the names that each type ever had, by what it is called now.
func All(rows []Row) map[string][]string {
	names := map[string][]string{}
	for _, row := range rows {
		for _, name := range []string{row.Name, row.Written} {
			if !slices.Contains(names[row.Name], name) {
				names[row.Name] = append(names[row.Name], name)
			}
		}
	}
	return names
}

// Here returns what a process calls the types of rows, by the names under which events
// were published. own holds the names of the process's catalogue, by these and their
// aliases.
func Here(rows []Row, own map[string]string) map[string]string {
	here, names := map[string]string{}, All(rows)
	for _, row := range rows {
		here[row.Written] = row.Name
		for _, name := range append([]string{row.Written, row.Name}, names[row.Name]...) {
			if own[name] != "" {
				here[row.Written] = own[name]
				break
			}
		}
	}
	return withNotices(here)
}

// withNotices makes the types of dead-letter notices follow the types that they are
// about.
func withNotices(names map[string]string) map[string]string {
	for written := range names {
		if base, dead := strings.CutPrefix(written, engine.DeadType("")); dead && names[base] != "" {
			names[written] = engine.DeadType(names[base])
		}
	}
	return names
}

// Missing lists the types that have no row. Aliases have one even if nothing was
// published under them: a program of an earlier version may be about to do so.
func Missing(rows []Row, specs []engine.TypeSpec) (missing []Key) {
	known := map[Key]bool{}
	for _, row := range rows {
		known[Key{row.Written, row.Version}] = true
	}
	for _, spec := range specs {
		keys := []Key{{spec.Name, max(spec.Version, 1)}}
		for _, alias := range spec.Aliases {
			keys = append(keys, Key{alias, 1})
		}
		for _, key := range keys {
			if !known[key] {
				missing = append(missing, key)
			}
		}
	}
	return missing
}

// Renamed returns the new names of the rows whose name is not what it should be, by
// their ID: types that the specs declare to be one have one name, and types that they
// declare to be two have two.
func Renamed(rows []Row, specs []engine.TypeSpec) map[int64]string {
	c := claimsOf(rows, specs)
	now := map[string]string{}
	for _, row := range rows {
		now[row.Written] = c.nameOf(row)
	}
	withNotices(now)
	renamed := map[int64]string{}
	for _, row := range rows {
		if now[row.Written] != row.Name {
			renamed[row.ID] = now[row.Written]
		}
	}
	return renamed
}

// claims is what a catalogue says about the rows of a log.
type claims struct {
	owner map[string]*engine.TypeSpec          // by name, former ones included
	specs map[string]map[*engine.TypeSpec]bool // by the name of the rows: the owners of some of them
}

func claimsOf(rows []Row, specs []engine.TypeSpec) claims {
	c := claims{map[string]*engine.TypeSpec{}, map[string]map[*engine.TypeSpec]bool{}}
	for i := range specs {
		spec := &specs[i]
		c.owner[spec.Name] = spec
		for _, alias := range spec.Aliases {
			c.owner[alias] = spec
		}
	}
	for _, row := range rows {
		spec := c.owner[row.Written]
		if spec == nil {
			continue
		}
		if c.specs[row.Name] == nil {
			c.specs[row.Name] = map[*engine.TypeSpec]bool{}
		}
		c.specs[row.Name][spec] = true
	}
	return c
}

// nameOf returns what a row should be named. A newer name stays if the catalogue knows
// of no renaming: a program that was rolled back finds its events under all names.
func (c claims) nameOf(row Row) string {
	spec := cmp.Or(c.owner[row.Written], c.owner[row.Name])
	if sharers := c.specs[row.Name]; len(sharers) == 1 && c.owner[row.Name] == nil {
		for only := range sharers {
			if len(only.Aliases) == 0 {
				return row.Name
			}
			spec = only
		}
	}
	if spec == nil {
		return row.Name
	}
	return spec.Name
}

// MatchesAny reports whether a pattern matches a type that has had these names.
func MatchesAny(pattern string, names []string) (bool, error) {
	for _, name := range names {
		if ok, err := Matches(pattern, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// Matches reports whether one of the globs in pattern, which have spaces between them,
// matches an event type. One of the bus's own types is only matched by itself.
func Matches(pattern, name string) (bool, error) {
	if engine.IsOwn(name) || engine.IsOwn(pattern) {
		return pattern == name, nil
	}
	for one := range strings.FieldsSeq(pattern) {
		if one == name {
			return true, nil
		}
		if !strings.Contains(one, "*") {
			continue
		}
		p, err := glob.Parse(one)
		if err != nil {
			return false, fmt.Errorf("subscription pattern %q: %w", one, err)
		}
		if p.Match(name) {
			return true, nil
		}
	}
	return false, nil
}
