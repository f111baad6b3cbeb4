package docpage

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A paragraph is a text in which some parts are code.
type paragraph []span

type span struct {
	Text string
	Code bool
}

// paragraphs splits a doc at empty lines, and marks what is between backticks.
func paragraphs(doc string) []paragraph {
	var all []paragraph
	for text := range strings.SplitSeq(doc, "\n\n") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		var p paragraph
		parts := strings.Split(text, "`")
		for i, part := range parts {
			code := i%2 == 1 && i < len(parts)-1 // the last backtick may have no partner
			if i%2 == 1 && !code {
				part = "`" + part
			}
			if part != "" {
				p = append(p, span{part, code})
			}
		}
		all = append(all, p)
	}
	return all
}

func number(n int) string { return strconv.Itoa(n) }

// place is where something is written, seen from the folder of the catalogue.
func place(c *catalog.Catalogue, pos diag.Position) string {
	file, err := filepath.Rel(filepath.Dir(c.File), pos.File)
	if err != nil {
		file = filepath.Base(pos.File)
	}
	return fmt.Sprintf("%s:%d", filepath.ToSlash(file), pos.Line)
}

// rules says in words what is asked of a field besides its type.
func rules(f *catalog.Field) []string {
	all := constraintWords(f.Type, f.Constraints)
	switch {
	case f.Default.Written() && f.Type.Optional:
		all = append(all, "if absent: "+string(f.Default.V))
	case f.Default.Written() && f.Type.Nullable:
		all = append(all, "if null: "+string(f.Default.V))
	case f.Default.Written():
		all = append(all, "if a stored event lacks it: "+string(f.Default.V))
	}
	if f.Sensitive.V {
		all = append(all, "sensitive")
	}
	if f.Personal.V {
		all = append(all, "personal")
	}
	if f.Mixin != nil {
		all = append(all, "of mixin "+f.Mixin.Name.V)
	}
	if len(f.Was) > 0 {
		all = append(all, "formerly "+strings.Join(texts(f.Was), ", "))
	}
	return all
}

// constraintWords says in words which values of a type are allowed.
func constraintWords(t *catalog.TypeRef, c catalog.Constraints) []string {
	var all []string
	bounds := func(least, most, unit string) {
		if text := within(least, most); text != "" {
			all = append(all, text+plural(unit, max(least, most)))
		}
	}
	bounds(bound(t, c.Min), bound(t, c.Max), "")
	size := " character"
	if t.Kind == catalog.Bytes {
		size = " byte"
	}
	bounds(written(c.MinLength), written(c.MaxLength), size)
	bounds(written(c.MinItems), written(c.MaxItems), " item")
	if c.Unique.V {
		all = append(all, "no two the same")
	}
	if c.Format.Written() {
		all = append(all, "format "+c.Format.V)
	}
	if c.Pattern.Written() {
		all = append(all, "matches "+c.Pattern.V.Text)
	}
	if c.Each != nil && t.IsCollection() {
		for _, one := range constraintWords(t.Elem, *c.Each) {
			all = append(all, "each "+one)
		}
	}
	return all
}

// within says between which bounds something is; either may be empty.
func within(least, most string) string {
	switch {
	case least == most && least != "":
		return "exactly " + least
	case least != "" && most != "":
		return least + " to " + most
	case least != "":
		return "at least " + least
	case most != "":
		return "at most " + most
	}
	return ""
}

func plural(unit, n string) string {
	if unit == "" || n == "1" {
		return unit
	}
	return unit + "s"
}

// bound returns a bound as catalogues write it.
func bound(t *catalog.TypeRef, limit catalog.Value[catalog.Bound]) string {
	if limit.Written() && t.Kind == catalog.Duration {
		return catalog.Short(limit.V.Duration)
	}
	return limit.V.Text
}

func written(n catalog.Value[int]) string {
	if !n.Written() {
		return ""
	}
	return strconv.Itoa(n.V)
}
