package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Shape returns a digest of what generated code cannot learn from a catalogue at
// run time: the fields of the payload, the types that they are made of, and the
// partition key. The order of fields and what is said about them do not count.
func (e *Event) Shape() string {
	lines := fieldLines("field ", e.Fields, map[*Type]bool{})
	if e.PartitionBy != nil {
		lines = append(lines, "partition "+e.PartitionBy.Name.V)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:6])
}

// fieldLines has a line for each field, and those of the types that no field
// before was made of.
func fieldLines(prefix string, fields []*Field, done map[*Type]bool) []string {
	var lines []string
	for _, f := range fields {
		lines = append(lines, prefix+f.Name.V+" "+f.Type.Text)
		if t := f.Type.named(); t != nil && !done[t] {
			done[t] = true
			for _, v := range t.Values {
				lines = append(lines, "type "+t.Name.V+" "+v.Name.V)
			}
			lines = append(lines, fieldLines("type "+t.Name.V+" ", t.Fields, done)...)
		}
	}
	return lines
}

// named returns the declared type at the bottom of t, if there is one.
func (t *TypeRef) named() *Type {
	for t.Elem != nil {
		t = t.Elem
	}
	return t.Named
}
