package docpage

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
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

func place(pos catalog.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(pos.File), pos.Line)
}

// rules says in words what is asked of a field besides its type.
func rules(f *catalog.Field) []string {
	c := f.Constraints
	var all []string
	bounds := func(least, most, unit string) {
		switch {
		case least != "" && least == most:
			all = append(all, "exactly "+least+unit)
		case least != "" && most != "":
			all = append(all, least+" to "+most+unit)
		case least != "":
			all = append(all, "at least "+least+unit)
		case most != "":
			all = append(all, "at most "+most+unit)
		}
	}
	bounds(c.Min.V, c.Max.V, "")
	size := " characters"
	if f.Type.Kind == catalog.Bytes {
		size = " bytes"
	}
	bounds(written(c.MinLength), written(c.MaxLength), size)
	bounds(written(c.MinItems), written(c.MaxItems), " items")
	if c.Unique.V {
		all = append(all, "no two the same")
	}
	if c.Format.Written() {
		all = append(all, "format "+c.Format.V)
	}
	if c.Pattern.Written() {
		all = append(all, "matches "+c.Pattern.V)
	}
	if f.Default.Written() {
		all = append(all, "if absent: "+string(f.Default.V))
	}
	return all
}

func written(n catalog.Value[int]) string {
	if !n.Written() {
		return ""
	}
	return strconv.Itoa(n.V)
}
