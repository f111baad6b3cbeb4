package compiletest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"gopkg.in/yaml.v3"
)

// crossing are the files of catalogues with custom Go types in them. Each list of fields has some
// more, of custom types in every place where a type can be, and each file has one more event: its payload
// has the types of the file in every place.
type crossing struct {
	t     *testing.T
	below parse.Files
	files map[string]int // numbers by clean name: names of a catalogue must differ from file to file
	lists *int           // how many lists of fields have got some
	next  *int           // which custom type comes next
}

func newCrossing(t *testing.T, below parse.Files) crossing {
	return crossing{t: t, below: below, files: map[string]int{}, lists: new(int), next: new(int)}
}

// customTypes are those of testdata/crossed/custom.go, and of others.
var customTypes = []string{
	"example.com/cases/custom PointerJSON", "example.com/cases/custom ValueJSON", "example.com/cases/custom PointerText", "net/netip Addr",
	"example.com/cases/custom OneWay", "example.com/cases/custom Plain", "example.com/cases/custom Ints", "example.com/cases/custom Labels",
	"example.com/cases/custom Bag", "example.com/cases/custom Zero", "math/big Int",
}

// customPlaces are the places in which a type can be.
var customPlaces = []string{"%s", "%s?", "%s|null", "[]%s", "map[string]%s", "[]%s|null", "map[string][]%s?", "[]map[string]%s"}

func (c crossing) Glob(folder, pattern string) []string { return c.below.Glob(folder, pattern) }

func (c crossing) ReadFile(name string) ([]byte, error) {
	text, err := c.below.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return c.cross(name, text), nil
}

// cross adds custom types to the text of a file.
func (c crossing) cross(name string, text []byte) []byte {
	c.t.Helper()
	name = filepath.Clean(name)
	if _, known := c.files[name]; !known {
		c.files[name] = len(c.files)
	}
	n := strconv.Itoa(c.files[name])
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		c.t.Fatal(name, err)
	}
	root := document.Content[0]
	remove(root, "schedules") // their payloads would need the new fields
	for e := range valuesOf(child(root, "events")) {
		remove(e, "examples")
		c.fields(child(e, "payload"), n)
		for old := range valuesOf(child(e, "history")) {
			if old.Kind == yaml.MappingNode {
				c.fields(child(old, "payload"), n)
			}
		}
	}
	types := child(root, "types")
	payload := &yaml.Node{Kind: yaml.MappingNode}
	variants := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(types.Content); i += 2 {
		of, body := types.Content[i].Value, types.Content[i+1]
		if fields := find(body, "fields"); fields != nil {
			c.fields(fields, n)
			set(variants, fmt.Sprint("v", i), of)
		}
		for variant := range valuesOf(find(body, "one_of")) {
			if fields := find(variant, "fields"); fields != nil {
				c.fields(fields, n)
			}
		}
		inEveryPlace(payload, fmt.Sprint("t", i), of)
	}
	for i, custom := range customTypes {
		var path, goName string
		fmt.Sscan(custom, &path, &goName)
		set(types, customName(i, n), map[string]any{"go": map[string]string{"import": path, "type": goName}, "type": "json"})
	}
	own := child(child(variants, "own"), "fields")
	c.fields(own, n)
	inEveryPlace(own, "address", customName(3, n))
	set(types, "XqUnion"+n, map[string]any{"discriminator": "xq_of", "one_of": variants})
	inEveryPlace(payload, "union", "XqUnion"+n)
	set(child(root, "events"), "xq"+n+".sent", map[string]any{"payload": payload})
	crossed, err := yaml.Marshal(&document)
	if err != nil {
		c.t.Fatal(name, err)
	}
	return crossed
}

func customName(i int, file string) string { return fmt.Sprintf("Xq%dIn%s", i, file) }

// fields adds fields of custom types to others, and to those of structs in place there.
func (c crossing) fields(fields *yaml.Node, file string) {
	for f := range valuesOf(fields) {
		if f.Kind == yaml.MappingNode {
			remove(f, "pattern") // which may ask for an example
			if inside := find(f, "fields"); inside != nil {
				c.fields(inside, file)
			}
		}
	}
	places := customPlaces
	if *c.lists++; *c.lists%2 == 0 {
		places = places[:4] // those without maps have other methods
	}
	for _, place := range places {
		*c.next++ // names of their own, as a struct can be a mixin of another
		set(fields, fmt.Sprint("xq_", *c.next), fmt.Sprintf(place, customName(*c.next%len(customTypes), file)))
	}
}

// inEveryPlace adds fields that have a type in all places.
func inEveryPlace(fields *yaml.Node, name, of string) {
	for i, place := range customPlaces {
		set(fields, fmt.Sprint(name, "_", i), fmt.Sprintf(place, of))
	}
}

// find returns the value of a key, or nil.
func find(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// child returns the mapping under a key, and adds it if it is not there.
func child(mapping *yaml.Node, key string) *yaml.Node {
	if found := find(mapping, key); found != nil {
		return found
	}
	added := &yaml.Node{Kind: yaml.MappingNode}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, added)
	return added
}

// set adds an entry.
func set(mapping *yaml.Node, key string, value any) {
	var node yaml.Node
	if err := node.Encode(value); err != nil {
		panic(err)
	}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &node)
}

func remove(mapping *yaml.Node, key string) {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// valuesOf goes through the values of a mapping.
func valuesOf(mapping *yaml.Node) func(yield func(*yaml.Node) bool) {
	return func(yield func(*yaml.Node) bool) {
		if mapping == nil || mapping.Kind != yaml.MappingNode {
			return
		}
		for i := 1; i < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i]) {
				return
			}
		}
	}
}
