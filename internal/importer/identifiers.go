package importer

import (
	"bytes"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// found is what is at a reference, or why there is nothing.
type found struct {
	schema    *node
	name      string
	part      bool // of a definition that does not give it its name
	why, hint string
}

// identify finds the identifiers in a document.
func (set *fileSet) identify(doc *document) {
	base := &location{folderScheme + doc.path, doc.path}
	set.schemas[base.id] = doc.root
	// Until draft 4 an identifier is called id, which in other documents is something else.
	key := "$id"
	if draft := doc.root.str("$schema"); strings.Contains(draft, "draft-04") || strings.Contains(draft, "draft-03") {
		key = "id"
	}
	seen := map[*node]bool{}
	var visit func(n *node, base *location)
	visit = func(n *node, base *location) {
		if seen[n] {
			return // by another alias of YAML
		}
		seen[n] = true
		if id := n.str(key); id != "" {
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
			if name := n.str(anchor); name != "" {
				set.keep(base.id+"#"+name, n)
			}
		}
		if to := n.get("$ref"); to.is(text) {
			set.bases[to] = base
		}
		eachPart(n, func(_ string, part *node) { visit(part, base) })
	}
	doc.base = base.id
	if id := doc.root.str(key); id != "" {
		doc.base, _, _ = strings.Cut(against(base.id, id), "#")
	}
	visit(doc.root, base)
}

// byName are the keywords whose value has a schema, or something else that can have references, for each of some
// names. The names are no keywords.
var byName = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "schemas": true, "messages": true,
	"channels": true, "operations": true, "webhooks": true, "x-webhooks": true, "callbacks": true, "paths": true,
}

// eachPart visits the parts of a document that are right below one, but nothing that is only data: it can have
// any keys. The keyword of a part is empty in a list, and below names.
func eachPart(n *node, visit func(keyword string, part *node)) {
	for _, item := range n.items {
		visit("", item)
	}
	for _, m := range n.members {
		switch m.name {
		case "enum", "const", "default", "example":
		case "examples": // of OpenAPI have names, and can be somewhere else
			for _, named := range m.value.members {
				if named.value.get("$ref").is(text) {
					visit("", named.value)
				}
			}
		default:
			if byName[m.name] && m.value.is(object) {
				for _, named := range m.value.members {
					visit("", named.value)
				}
				continue
			}
			visit(m.name, m.value)
		}
	}
}

// keep keeps a schema by its identifier, which is that of the first that has it.
func (set *fileSet) keep(id string, n *node) {
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

// lookUp returns what is at a reference.
func (set *fileSet) lookUp(to *node) found {
	base := set.bases[to]
	if base == nil {
		base = &location{folderScheme + set.main, set.main}
	}
	key := foundAt{*base, to.text}
	f, known := set.found[key]
	if !known {
		f = set.find(*base, to.text)
		set.found[key] = f
	}
	return f
}

func (set *fileSet) find(base location, to string) found {
	reference, fragment, _ := strings.Cut(to, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	at, whole, name, part := (*node)(nil), base.id, "", false
	if reference != "" {
		whole, _, _ = strings.Cut(against(base.id, reference), "#")
		name = fileName(whole)
	}
	if at = set.schemas[whole]; at == nil {
		var f found
		if at, whole, f = set.fileOf(base, reference, whole); at == nil {
			return f
		}
	}
	switch {
	case fragment == "" && reference == "":
		name = at.str("title")
	case fragment == "":
	case !strings.HasPrefix(fragment, "/"):
		at, name = set.schemas[whole+"#"+fragment], fragment
	default:
		at, name = pointedTo(at, fragment[1:])
		part = leadsToPart(fragment)
	}
	if at == nil {
		return found{why: "which does not exist"}
	}
	return found{schema: at, name: name, part: part}
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
	return slices.Contains([]string{"items", "additionalProperties", "contains", "then", "else", "schema", "payload", "headers"}, last)
}

// fileOf returns the document that a reference leads to, with the base under which its anchors are. target is the
// reference as seen from the identifier around it.
func (set *fileSet) fileOf(base location, reference, target string) (at *node, whole string, no found) {
	if set.folder == nil {
		return nil, "", found{why: "which is not in this file", hint: "bundle the document and what it refers to into one document first, and import that"}
	}
	var paths []string
	relative := true
	if t, err := url.Parse(reference); err == nil && (t.Scheme != "" || t.Host != "") && !strings.HasPrefix(reference, folderScheme) {
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
		if doc.root != nil {
			return doc.root, doc.base, found{}
		}
		if i > 0 || !relative {
			continue
		}
		no = found{why: "which cannot be read: " + doc.why}
		if doc.at.Pos.IsKnown() {
			no.why = "which cannot be read: " + doc.at.Pos.String() + ": " + doc.why
		}
		if doc.outside {
			no.hint = "name a folder that both files are in with --root"
		}
	}
	if no.why == "" {
		no = found{why: "which no file in the folder " + set.folderName() + " has as its $id; nothing is fetched from a network",
			hint: "save it in the folder, with that $id"}
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
			if found := identifier.FindSubmatch(rest[:min(len(rest), 500)]); found != nil && bytes.Contains(found[1], []byte(":")) {
				return strings.TrimSuffix(string(found[1]), "#")
			}
		}
	}
	return ""
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

// countReferences finds out what a document refers to, how often, and how large what it uses is, in all of its files.
// What a message or payload refers to becomes an event.
func (set *fileSet) countReferences(root *node) (references map[*node]int, parts int) {
	references = map[*node]int{}
	counted := map[*node]bool{}
	left := []*node{root}
	var visit func(n *node)
	visit = func(n *node) {
		if counted[n] {
			return // by another alias of YAML
		}
		counted[n] = true
		if to := n.get("$ref"); to.is(text) {
			if at := set.lookUp(to).schema; at != nil {
				references[at]++
				left = append(left, at)
			}
		}
		eachPart(n, func(keyword string, part *node) {
			if to := part.get("$ref"); keyword == "payload" && to.is(text) {
				if at := set.lookUp(to).schema; at != nil {
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
