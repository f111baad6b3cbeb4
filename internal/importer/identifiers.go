package importer

import (
	"net/url"
	"path"
	"strconv"
	"strings"
)

// resources are the schemas of the document that have an identifier of their own, as bundling
// several documents into one leaves them.
type resources struct {
	schemas map[string]*node // by $id, or by $id#anchor
	bases   map[*node]string // the $id around a $ref, by its text
	found   map[string]found // by base and reference
}

type found struct {
	schema *node
	name   string
}

func newResources() resources {
	return resources{map[string]*node{}, map[*node]string{}, map[string]found{}}
}

// identify finds the identifiers in n, which has a base around it.
func (r resources) identify(n *node, base string, seen map[*node]bool) {
	if seen[n] {
		return // by another alias of YAML
	}
	seen[n] = true
	if id := n.str("$id"); id != "" {
		whole, anchor, _ := strings.Cut(against(base, id), "#")
		base = whole
		if anchor == "" {
			r.add(whole, n)
		} else {
			r.add(whole+"#"+anchor, n) // up to draft 7
		}
	}
	if anchor := n.str("$anchor"); anchor != "" {
		r.add(base+"#"+anchor, n)
	}
	if to := n.get("$ref"); to.is(text) {
		r.bases[to] = base
	}
	for _, item := range n.items {
		r.identify(item, base, seen)
	}
	for _, m := range n.members {
		switch m.name {
		case "enum", "const", "default", "examples", "example":
		default:
			r.identify(m.value, base, seen)
		}
	}
}

// add keeps the first schema of an identifier.
func (r resources) add(id string, n *node) {
	if r.schemas[id] == nil {
		r.schemas[id] = n
	}
}

// against is a reference as seen from a base.
func against(base, to string) string {
	b, err := url.Parse(base)
	t, toErr := url.Parse(to)
	if err != nil || toErr != nil {
		return to
	}
	return b.ResolveReference(t).String()
}

// lookUp returns what is at a reference, with the last word of it.
func (im *importer) lookUp(to *node) (*node, string) {
	base := im.resources.bases[to]
	key := base + " " + to.text
	f, known := im.resources.found[key]
	if !known {
		f.schema, f.name = im.find(base, to)
		im.resources.found[key] = f
	}
	return f.schema, f.name
}

func (im *importer) find(base string, to *node) (*node, string) {
	whole, fragment, _ := strings.Cut(to.text, "#")
	if whole != "" {
		base = against(base, whole)
	}
	at := im.resources.schemas[base]
	switch {
	case at == nil && whole != "":
		return nil, ""
	case at == nil:
		at = im.root
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	switch {
	case fragment == "" && whole == "":
		return at, at.str("title")
	case fragment == "":
		name := path.Base(base)
		return at, strings.TrimSuffix(name, path.Ext(name))
	case !strings.HasPrefix(fragment, "/"):
		return im.resources.schemas[base+"#"+fragment], fragment
	}
	return pointedTo(at, fragment[1:])
}

// pointedTo follows a JSON pointer.
func pointedTo(n *node, pointer string) (*node, string) {
	name := ""
	for part := range strings.SplitSeq(pointer, "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if n.is(list) {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil, ""
			}
			n = n.items[i]
			continue
		}
		if n = n.get(name); n == nil {
			return nil, ""
		}
	}
	return n, name
}
