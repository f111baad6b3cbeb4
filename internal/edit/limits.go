package edit

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// inLimits renames a field, given by its key, in the paths by which limits and breakers count.
func (e *editor) inLimits(c *catalog.Catalogue, key *yaml.Node, to string) {
	at := diag.Position{File: e.home[key].name, Line: key.Line, Column: key.Column}
	done := map[diag.Position]bool{}
	for _, event := range c.Events {
		paths := map[string]string{} // by what they were
		for _, k := range event.LimitKeys {
			segments := strings.Split(k.Path, ".")
			for i, f := range k.Fields {
				if f.Name.Pos == at {
					segments[i] = to
				}
			}
			paths[k.Path] = strings.Join(segments, ".")
		}
		note := func(s catalog.Settings) {
			by := []catalog.Value[string]{s.Breaker.By}
			for _, use := range s.Limits.V {
				by = append(by, use.By)
			}
			for _, one := range by {
				if now, ok := paths[one.V]; ok && now != one.V && !done[one.Pos] {
					done[one.Pos] = true
					e.scalar(e.scalarAt(one), one.V, now)
				}
			}
		}
		note(event.Settings)
		for _, s := range event.Declared() {
			note(s.Settings)
		}
	}
}

// scalarAt returns the scalar that a value was read from.
func (e *editor) scalarAt(v catalog.Value[string]) *yaml.Node {
	for n, d := range e.home {
		if n.Kind == yaml.ScalarNode && n.Value == v.V && d.name == v.Pos.File && n.Line == v.Pos.Line && n.Column == v.Pos.Column {
			return n
		}
	}
	panic("edit: no scalar at " + v.Pos.String())
}
