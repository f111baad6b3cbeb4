package exact

import (
	"slices"
	"strconv"
	"strings"
)

// place is where a value is in a payload; nil for the payload itself. Its text is not made
// before it is needed: a payload of strangers may have a long one for each of a million
// values.
type place struct {
	in   *place
	name string // of the field
	i    int    // of the item, if it is not a field
	list bool
}

// field returns the place of a field of the object at p.
func (p *place) field(name string) *place { return &place{in: p, name: name} }

// item returns the place of the i-th item of the list at p.
func (p *place) item(i int) *place { return &place{in: p, i: i, list: true} }

// String returns lines[2].price.
func (p *place) String() string {
	var steps []*place
	for ; p != nil; p = p.in {
		steps = append(steps, p)
	}
	var path strings.Builder
	for _, step := range slices.Backward(steps) {
		switch {
		case step.list:
			path.WriteString("[" + strconv.Itoa(step.i) + "]")
		case path.Len() == 0 || step.name == "" || strings.HasPrefix(step.name, "["):
			path.WriteString(step.name)
		default:
			path.WriteString("." + step.name)
		}
	}
	return path.String()
}
