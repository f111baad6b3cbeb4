package files

import (
	"bytes"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/importer/tree"
)

// A location is what a reference is relative to.
type location struct {
	id   string // the $id around it, or else the file
	file string // its path in the folder
}

type foundAt struct {
	location
	to string
}

// Found is what is at a reference, or why there is nothing.
type Found struct {
	Schema    *tree.Node
	Name      string
	Part      bool // of a definition that does not give it its name
	Why, Hint string
}

// identify finds the identifiers in a document.
func (set *Set) identify(doc *Document) {
	base := &location{folderScheme + doc.path, doc.path}
	set.schemas[base.id] = doc.Root
	// Until draft 4 an identifier is called id, which in other documents is something else.
	key := "$id"
	if draft := doc.Root.Str("$schema"); strings.Contains(draft, "draft-04") || strings.Contains(draft, "draft-03") {
		key = "id"
	}
	seen := map[*tree.Node]bool{}
	var visit func(n *tree.Node, base *location)
	visit = func(n *tree.Node, base *location) {
		if seen[n] {
			return // by another alias of YAML
		}
		seen[n] = true
		if id := n.Str(key); id != "" {
			whole, anchor, _ := strings.Cut(against(base.id, id), "#")
			if whole != base.id {
				base = &location{whole, base.file}
			}
			if anchor == "" {
				set.keep(whole, n)
			} else {
				set.keep(whole+"#"+anchor, n) // up to draft 7
			}
		}
		for _, anchor := range []string{"$anchor", "$dynamicAnchor"} {
			if name := n.Str(anchor); name != "" {
				set.keep(base.id+"#"+name, n)
			}
		}
		if to := n.Get("$ref"); to.Is(tree.Text) {
			set.bases[to] = base
		}
		EachPart(n, func(_ string, part *tree.Node) { visit(part, base) })
	}
	doc.base = base.id
	if id := doc.Root.Str(key); id != "" {
		doc.base, _, _ = strings.Cut(against(base.id, id), "#")
	}
	visit(doc.Root, base)
}

// byName are the keywords whose value has a schema, or something else that can have references, for each of some
// names. The names are no keywords.
var byName = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true,
	"schemas": true, "messages": true,
	"channels": true, "operations": true, "webhooks": true, "x-webhooks": true, "callbacks": true, "paths": true,
}

// EachPart visits the parts of a document that are right below one, but nothing that is only data: it can have
// any keys. The keyword of a part is empty in a list, and below names.
func EachPart(n *tree.Node, visit func(keyword string, part *tree.Node)) {
	for _, item := range n.Items {
		visit("", item)
	}
	for _, m := range n.Members {
		switch m.Name {
		case "enum", "const", "default", "example":
		case "examples": // of OpenAPI have names, and can be somewhere else
			for _, named := range m.Value.Members {
				if named.Value.Get("$ref").Is(tree.Text) {
					visit("", named.Value)
				}
			}
		default:
			if byName[m.Name] && m.Value.Is(tree.Object) {
				for _, named := range m.Value.Members {
					visit("", named.Value)
				}
				continue
			}
			visit(m.Name, m.Value)
		}
	}
}

// keep keeps a schema by its identifier, which is that of the first that has it.
func (set *Set) keep(id string, n *tree.Node) {
	if set.schemas[id] == nil {
		set.schemas[id] = n
	}
}

// against is a reference as seen from a base.
func against(base, to string) string {
	t, err := url.Parse(to)
	if err != nil {
		return to
	}
	if file, ok := strings.CutPrefix(base, folderScheme); ok {
		if t.Scheme != "" || t.Host != "" {
			return to
		}
		if t.Path != "" && !strings.HasPrefix(t.Path, "/") {
			file = path.Join(path.Dir(file), t.Path)
		} else if t.Path != "" {
			file = t.Path
		}
		if t.Fragment != "" {
			return folderScheme + file + "#" + t.Fragment
		}
		return folderScheme + file
	}
	b, err := url.Parse(base)
	if err != nil {
		return to
	}
	return b.ResolveReference(t).String()
}

// LookUp returns what is at a reference.
func (set *Set) LookUp(to *tree.Node) Found {
	base := set.bases[to]
	if base == nil {
		base = &location{folderScheme + set.main, set.main}
	}
	key := foundAt{*base, to.Text}
	f, known := set.found[key]
	if !known {
		f = set.find(*base, to.Text)
		set.found[key] = f
	}
	return f
}

func (set *Set) find(base location, to string) Found {
	reference, fragment, _ := strings.Cut(to, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	at, whole, name, part := (*tree.Node)(nil), base.id, "", false
	if reference != "" {
		whole, _, _ = strings.Cut(against(base.id, reference), "#")
		name = fileName(whole)
	}
	if at = set.schemas[whole]; at == nil {
		var f Found
		if at, whole, f = set.fileOf(base, reference, whole); at == nil {
			return f
		}
	}
	switch {
	case fragment == "" && reference == "":
		name = at.Str("title")
	case fragment == "":
	case !strings.HasPrefix(fragment, "/"):
		at, name = set.schemas[whole+"#"+fragment], fragment
	default:
		at, name = pointedTo(at, fragment[1:])
		part = leadsToPart(fragment)
	}
	if at == nil {
		return Found{Why: "which does not exist"}
	}
	return Found{Schema: at, Name: name, Part: part}
}

// leadsToPart tells whether a JSON pointer leads to a part of a schema or of something else, such as
// #/components/schemas/Order/properties/id or …/parameters/id/schema, and not to a definition.
func leadsToPart(pointer string) bool {
	words := strings.Split(pointer, "/")
	last, around := words[len(words)-1], words[len(words)-2]
	switch around {
	case "$defs", "definitions", "schemas":
		return false
	case "properties", "patternProperties", "allOf", "anyOf", "oneOf", "prefixItems", "items":
		return true
	}
	return slices.Contains([]string{"items", "additionalProperties", "contains", "then", "else", "schema", "payload",
		"headers"}, last)
}

// fileOf returns the document that a reference leads to, with the base under which its anchors are. target is the
// reference as seen from the identifier around it.
func (set *Set) fileOf(base location, reference, target string) (at *tree.Node, whole string, no Found) {
	if set.folder == nil {
		return nil, "", Found{Why: "which is not in this file",
			Hint: "bundle the document and what it refers to into one document first, and import that"}
	}
	var paths []string
	relative := true
	if t, err := url.Parse(reference); err == nil && (t.Scheme != "" || t.Host != "") &&
		!strings.HasPrefix(reference, folderScheme) {
		relative = false
		if found := set.identified(target); found != "" {
			paths = append(paths, found)
		}
	} else {
		own := strings.TrimPrefix(against(folderScheme+base.file, reference), folderScheme)
		paths = append(paths, own)
		if !strings.HasPrefix(reference, "/") && !strings.HasPrefix(reference, ".") {
			for above := path.Dir(base.file); above != "."; { // references relative to a folder above are common
				above = path.Dir(above)
				paths = append(paths, path.Join(above, reference))
			}
		}
	}
	if beside := besides(base, target); fs.ValidPath(beside) {
		paths = append(paths, beside)
		if path.Ext(beside) == "" {
			paths = append(paths, beside+".json", beside+".schema.json", beside+".yaml")
		}
	}
	for i, p := range paths {
		doc := set.open(p)
		if doc.Root != nil {
			return doc.Root, doc.base, Found{}
		}
		if i > 0 || !relative {
			continue
		}
		no = Found{Why: "which cannot be read: " + doc.Why}
		if doc.At.Pos.IsKnown() {
			no.Why = "which cannot be read: " + doc.At.Pos.String() + ": " + doc.Why
		}
		if doc.outside {
			no.Hint = "name a folder that both files are in with --root"
		}
	}
	if no.Why == "" {
		no = Found{Why: "which no file in the folder " + set.folderName() +
			" has as its $id; nothing is fetched from a network",
			Hint: "save it in the folder, with that $id"}
	}
	return nil, "", no
}

// fileName is what a file is called, without folders and endings.
func fileName(address string) string {
	name := path.Base(strings.TrimPrefix(address, folderScheme))
	for _, ending := range []string{".json", ".yaml", ".yml", ".jsonschema", ".schema"} {
		if short := strings.TrimSuffix(name, ending); short != "" {
			name = short
		}
	}
	return name
}

var identifier = regexp.MustCompile(`^["']?\s*:\s*["']?([^\s"',}]+)`)

// identifierOf finds the identifier of a file: the first in its text that is a URL.
func identifierOf(source []byte) string {
	for _, key := range []string{"$id", `"id"`, "'id'", "\nid"} {
		rest := source
		for range 5 {
			at := bytes.Index(rest, []byte(key))
			if at < 0 {
				break
			}
			rest = rest[at+len(key):]
			if found := identifier.FindSubmatch(rest[:min(len(rest), 500)]); found != nil &&
				bytes.Contains(found[1], []byte(":")) {
				return strings.TrimSuffix(string(found[1]), "#")
			}
		}
	}
	return ""
}

// pointedTo follows a JSON pointer.
func pointedTo(n *tree.Node, pointer string) (*tree.Node, string) {
	name := ""
	for part := range strings.SplitSeq(pointer, "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if n.Is(tree.List) {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil, ""
			}
			n = n.Items[i]
			continue
		}
		if n = n.Get(name); n == nil {
			return nil, ""
		}
	}
	return n, name
}

// CountReferences finds out what a document refers to, how often, and how large what it uses is, in all of its files.
// What a message or payload refers to becomes an event.
func (set *Set) CountReferences(root *tree.Node) (references map[*tree.Node]int, parts int) {
	references = map[*tree.Node]int{}
	counted := map[*tree.Node]bool{}
	left := []*tree.Node{root}
	var visit func(n *tree.Node)
	visit = func(n *tree.Node) {
		if counted[n] {
			return // by another alias of YAML
		}
		counted[n] = true
		if to := n.Get("$ref"); to.Is(tree.Text) {
			if at := set.LookUp(to).Schema; at != nil {
				references[at]++
				left = append(left, at)
			}
		}
		EachPart(n, func(keyword string, part *tree.Node) {
			if to := part.Get("$ref"); keyword == "payload" && to.Is(tree.Text) {
				if at := set.LookUp(to).Schema; at != nil {
					left = append(left, at)
				}
				return
			}
			visit(part)
		})
	}
	for len(left) > 0 {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		visit(n)
	}
	return references, len(counted)
}
