package diag

import (
	"cmp"
	"fmt"
)

// Position is a point in a file. The zero value stands for something that is not written anywhere, such
// as a built-in default.
type Position struct {
	File         string
	Line, Column int // from 1; columns count characters
}

// String formats the position as compilers do: file:line:col.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// IsKnown reports whether p is a point in a file.
func (p Position) IsKnown() bool { return p != Position{} }

// Compare orders positions in one file.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.Line, other.Line), cmp.Compare(p.Column, other.Column))
}

// Place is a piece of one line of a file.
type Place struct {
	Pos    Position
	Length int    // in characters, at least 1
	Line   string // the whole line, without its end; empty if it is not to be shown
}
