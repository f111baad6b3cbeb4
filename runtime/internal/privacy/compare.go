package privacy

import (
	"slices"
	"strings"
)

// Difference is what two schemas say of the payloads of one version, as far as readers mind.
type Difference struct {
	Lacks []string // fields that the first requires, and the second does not have
	Extra []string // those that the second requires, and the first does not have
}

// Clash reports whether neither of the two has come from the other by adding fields, or by removing some. Then
// each would be read as the other with empty fields. A field of another type is no clash: decoding it fails.
func (d *Difference) Clash() bool {
	return len(d.Lacks) > 0 && len(d.Extra) > 0
}

// Compare compares with another schema, of the payloads of a version. A version that one of the two does not know, and a
// schema that cannot be read, have no difference.
func (s *Shape) Compare(other *Shape, version int) *Difference {
	c := comparison{seen: map[[2]*structure]bool{}}
	if ours, theirs := s.exactly(version), other.exactly(version); ours != nil && theirs != nil {
		c.structures(ours, theirs, "")
	}
	return &c.Difference
}

// exactly returns the struct of the payloads of a version; nil if the schema does not have that.
func (s *Shape) exactly(version int) *structure {
	switch {
	case s == nil || s.unknown:
		return nil
	case s.version == version:
		return s.payload
	}
	return s.history[version]
}

type comparison struct {
	Difference
	seen map[[2]*structure]bool // types can contain themselves
}

func (c *comparison) structures(ours, theirs *structure, path string) {
	if c.seen[[2]*structure{ours, theirs}] {
		return
	}
	c.seen[[2]*structure{ours, theirs}] = true
	for _, f := range ours.fields {
		at := strings.TrimPrefix(path+"."+f.name, ".")
		if other := theirs.fieldOf(f); other != nil {
			c.refs(f.of, other.of, at)
		} else if f.required() {
			c.Lacks = append(c.Lacks, at)
		}
	}
	for _, f := range theirs.fields {
		if ours.fieldOf(f) == nil && f.required() {
			c.Extra = append(c.Extra, strings.TrimPrefix(path+"."+f.name, "."))
		}
	}
	for _, v := range ours.variants {
		if i := slices.IndexFunc(theirs.variants, func(other variant) bool { return other.name == v.name }); i >= 0 {
			c.structures(v.of, theirs.variants[i].of, path)
		}
	}
}

func (c *comparison) refs(ours, theirs *ref, path string) {
	switch {
	case ours.list != nil && theirs.list != nil:
		c.refs(ours.list, theirs.list, path+"[]")
	case ours.entries != nil && theirs.entries != nil:
		c.refs(ours.entries, theirs.entries, path+"[]")
	case ours.named != nil && theirs.named != nil:
		c.structures(ours.named, theirs.named, path)
	}
}

// fieldOf returns the field that another program calls f, by its name or a former one of either; or nil.
func (s *structure) fieldOf(f *field) *field {
	if own := s.byKey[f.name]; own != nil {
		return own
	}
	for _, was := range f.was {
		if own := s.byKey[was]; own != nil {
			return own
		}
	}
	for _, own := range s.fields { // decoders ignore the case
		if strings.EqualFold(own.name, f.name) {
			return own
		}
	}
	return nil
}

// required reports whether readers have nothing to put in the place of a field that is missing.
func (f *field) required() bool { return !f.of.optional && !f.of.nullable && !f.stands }
