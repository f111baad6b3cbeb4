package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shape returns a digest of what only a build can change: the fields of the payload, the types that they
// consist of, and the fields that are keys. The order of fields and their docs do not count.
func (e *Event) Shape() string {
	lines := fieldLines("field ", e.Fields, map[*Type]bool{})
	if e.PartitionBy != nil {
		lines = append(lines, "partition "+e.PartitionBy.Name.V)
	}
	if e.DedupeBy != nil {
		lines = append(lines, "dedupe "+e.DedupeBy.Name.V)
	}
	if e.AwaitBy != nil {
		lines = append(lines, "await "+e.AwaitBy.Name.V)
	}
	if e.Version.V > 1 {
		lines = append(lines, "version "+strconv.Itoa(e.Version.V))
	}
	for _, old := range e.History {
		lines = append(lines, fieldLines("version "+strconv.Itoa(old.Version.V)+" field ", old.Type.Fields, map[*Type]bool{})...)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:6])
}

// fieldLines returns a line for each field, and the lines of the types that are not done.
func fieldLines(prefix string, fields []*Field, done map[*Type]bool) []string {
	var lines []string
	for _, f := range fields {
		line := prefix + f.Name.V + " " + f.Type.Text + f.Constraints.digest() + string(f.Default.V) + formerDigest(f)
		lines = append(lines, line)
		if t := f.Type.Declared(); t != nil && !done[t] {
			done[t] = true
			lines = append(lines, typeLines(t, done)...)
		}
	}
	return lines
}

// formerDigest tells former names of a field apart. It is empty without any.
func formerDigest(f *Field) string {
	var b strings.Builder
	for _, was := range f.Was {
		b.WriteString(" was " + was.V)
	}
	return b.String()
}

// typeLines returns lines for what a declared type consists of.
func typeLines(t *Type, done map[*Type]bool) []string {
	prefix := "type " + t.Name.V + " "
	var lines []string
	for _, v := range t.Values {
		lines = append(lines, prefix+string(v.JSON(t)))
	}
	for _, v := range t.Variants {
		lines = append(lines, prefix+t.Discriminator.V+" "+v.Name.V+" "+v.Type.Name.V)
		if !done[v.Type] {
			done[v.Type] = true
			lines = append(lines, typeLines(v.Type, done)...)
		}
	}
	if t.IsCustom() {
		lines = append(lines, prefix+t.Custom.Import.V+" "+t.Custom.Name.V+" "+t.Custom.JSON.Text)
	}
	return append(lines, fieldLines(prefix, t.Fields, done)...)
}

// digest tells constraints apart. It is empty without any.
func (c Constraints) digest() string {
	if c == (Constraints{}) {
		return ""
	}
	text := fmt.Sprintf(" %q %q %d %d %t %q %q %d %d %t %t", c.Min.V.Text, c.Max.V.Text, c.MinLength.V, c.MaxLength.V, c.MaxLength.Written(),
		c.Pattern.V.Text, c.Format.V, c.MinItems.V, c.MaxItems.V, c.MaxItems.Written(), c.Unique.V)
	if c.Each != nil {
		text += " each" + c.Each.digest()
	}
	return text
}
