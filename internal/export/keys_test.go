package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/export"
)

// The reference of the keys is made of the schema of catalogues, which other tests compare with the reader.
const keysPage = "../../docs/catalogue-keys.md"

// common are the keys that many things have. Only the table of limits, whose keys a test compares with the reader, repeats them.
const common = "doc deprecated go_name json_names mixins reserved"

const constraints = "min max min_length max_length pattern format min_items max_items unique items values"

// keyTables are the tables of the page: of which objects of the schema, and the keys that are in another table.
var keyTables = []struct{ title, head, object, elsewhere, about string }{
	{"A catalogue", "Key", "", "", ""},
	{"An import", "Key", "/properties/imports/additionalProperties/anyOf/1", "", ""},
	{"CloudEvents", "Key", "/properties/cloudevents", "", ""},
	{"A header", "Key", "/definitions/header", "", "A policy may leave out the type of a header that all events have."},
	{"Keys of many things", "Key", "/definitions/event", "all but common", "Of events, types, fields, subscriptions and the like. The other tables leave them out; editors know where each is possible."},
	{"An event", "Key", "/definitions/event", "settings", "And all [settings](#settings)."},
	{"An old version", "Key", "/definitions/event/properties/history/additionalProperties/anyOf/1", "", ""},
	{"A result", "Key", "/definitions/event/properties/result/anyOf/1", "", "Or only the type."},
	{"A subscription of an event", "Key", "/definitions/subscription", "settings", "And all [settings](#settings) but `priority`."},
	{"A subscription for patterns", "Key", "/definitions/patternSubscription", "settings", "And all [settings](#settings) but `priority` and `batch`."},
	{"A group", "Key", "/definitions/group", "", "And `doc`."},
	{"A schedule", "Key", "/definitions/schedule", "", "It has `cron` or `every`."},
	{"A field", "Key", "/definitions/field", constraints, "Or only the type. And [constraints](#constraints)."},
	{"Constraints", "Constraint", "/definitions/each", "", "Of a field, a named scalar, and of what is in a list or a map."},
	{"A type", "Key", "/definitions/type", constraints, "It has one of `fields`, `enum`, `one_of`, `go` and `type`; a named scalar has [constraints](#constraints)."},
	{"A value of an enum", "Key", "/definitions/enumEntry/anyOf/1", "", "Or only the number."},
	{"A Go type", "Key", "/definitions/type/properties/go", "", ""},
	{"A limit", "Limit", "/definitions/limit", "", "It has `at_once`, `rate`, or both."},
	{"Settings", "Setting", "/definitions/settings", "", "Of the defaults, a policy, an event or a subscription. A policy has `headers`, too."},
	{"A rule of lint", "Key", "/definitions/lint/additionalProperties/anyOf/1", "", "Or only the severity. `busgen lint --rules` lists the rules with examples."},
}

func TestTheReferenceOfTheKeysIsThatOfTheSchema(t *testing.T) {
	want := keysReference(t)
	if *update {
		if err := os.WriteFile(keysPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(keysPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("go test ./internal/export -run Keys -update corrects the page (-schema +page):\n%s", diff)
	}
}

func keysReference(t *testing.T) string {
	var page strings.Builder
	page.WriteString("# Keys of a catalogue\n\nAll keys of `events.yaml`, what holds if they are left out, and an example of each. [The catalogue](catalogue.md)\n" +
		"says what they do together. This page is generated from the schema for editors, which `busgen schema` prints.\n")
	doc := orderedSchema(t)
	ofSettings := doc.at("/definitions/settings/properties").keys()
	for _, one := range keyTables {
		fmt.Fprintf(&page, "\n## %s\n\n", one.title)
		if one.about != "" {
			page.WriteString(one.about + "\n\n")
		}
		fmt.Fprintf(&page, "| %s | Value | If left out | Meaning | Example |\n|---|---|---|---|---|\n", one.head)
		elsewhere := strings.Fields(one.elsewhere)
		switch {
		case one.elsewhere == "settings":
			elsewhere = append(elsewhere, ofSettings...)
		case one.elsewhere == "all but common":
			elsewhere = slices.DeleteFunc(doc.at(one.object+"/properties").keys(), func(key string) bool { return slices.Contains(strings.Fields(common), key) })
		}
		if one.elsewhere != "all but common" && one.head != "Limit" {
			elsewhere = append(elsewhere, strings.Fields(common)...)
		}
		doc.rows(t, &page, "", one.object, elsewhere)
	}
	return page.String()
}

// node is a part of the schema; its keys are in their order.
type node struct {
	object []struct {
		key   string
		value node
	}
	list   []node
	scalar any
	root   *node
}

func orderedSchema(t *testing.T) *node {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(export.CatalogueSchema()))
	decoder.UseNumber()
	root := &node{}
	var read func() node
	read = func() node {
		token, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		n := node{root: root}
		switch token {
		case json.Delim('{'):
			for decoder.More() {
				key := read().scalar.(string)
				n.object = append(n.object, struct {
					key   string
					value node
				}{key, read()})
			}
			read()
		case json.Delim('['):
			for decoder.More() {
				n.list = append(n.list, read())
			}
			read()
		default:
			n.scalar = token
		}
		return n
	}
	*root = read()
	root.root = root
	return root
}

func (n *node) keys() (keys []string) {
	for _, m := range n.object {
		keys = append(keys, m.key)
	}
	return keys
}

// at returns what a pointer leads to, nil for nothing.
func (n *node) at(pointer string) *node {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		var next *node
		for i := range n.object {
			if n.object[i].key == name {
				next = &n.object[i].value
			}
		}
		if i := slices.Index([]string{"0", "1", "2"}, name); i >= 0 && i < len(n.list) {
			next = &n.list[i]
		}
		switch {
		case name == "":
		case next == nil:
			return nil
		default:
			n = next
		}
	}
	return n
}

// of returns what a schema says under a key, itself or where it refers to.
func (n *node) of(key string) *node {
	if found := n.at(key); found != nil {
		return found
	}
	if ref := n.at("$ref"); ref != nil {
		return n.root.at(strings.TrimPrefix(ref.text(), "#")).of(key)
	}
	return nil
}

func (n *node) text() string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(n.scalar)
}

// rows writes the rows of the keys of an object, and those of settings below them.
func (n *node) rows(t *testing.T, page *strings.Builder, prefix, object string, elsewhere []string) {
	t.Helper()
	whole := n.at(object)
	var required []string
	if list := whole.at("required"); list != nil {
		for _, name := range list.list {
			required = append(required, name.text())
		}
	}
	for _, m := range whole.at("properties").object {
		if slices.Contains(elsewhere, m.key) {
			continue
		}
		pointer := object + "/properties/" + m.key
		said, ifLeftOut := m.value.of("description").text(), ""
		if at := strings.Index(said, " Built in: "); at >= 0 {
			said, ifLeftOut = said[:at], "`"+strings.TrimSuffix(said[at+len(" Built in: "):], ".")+"`"
		}
		if strings.Contains(ifLeftOut, " ") { // it is a sentence
			ifLeftOut = strings.Trim(ifLeftOut, "`")
		}
		if slices.Contains(required, m.key) {
			ifLeftOut = "required"
		}
		value := m.value.kind(t, pointer)
		if found := span.FindStringSubmatch(said); found != nil {
			said = strings.Replace(said, found[0], found[4], 1)
			value = strings.Replace(value, "duration", "duration, `"+found[1]+"` to `"+found[2]+"`", 1)
		}
		example := m.value.of("x-example")
		if said == "" || example == nil {
			t.Errorf("%s of the schema has no description, or no x-example", pointer)
			continue
		}
		if err := schemaIn(t, export.CatalogueSchema(), pointer).Validate(example.plain()); err != nil {
			t.Errorf("the example of %s is not valid: %v", pointer, err)
		}
		fmt.Fprintf(page, "| `%s` | %s | %s | %s | `%s: %s` |\n", prefix+m.key, value, ifLeftOut, strings.ReplaceAll(said, "|", "\\|"), m.key, example.flow())
		if object == "/definitions/settings" {
			for _, below := range []string{"/definitions/" + m.key, "/definitions/" + m.key + "/anyOf/1"} {
				if n.at(below) != nil && n.at(below).at("properties") != nil {
					n.rows(t, page, m.key+": ", below, nil)
				}
			}
		}
	}
}

// span is how a description says between which durations a value is.
var span = regexp.MustCompile(`(?:: |, over )([0-9]+[a-z]+) to ([0-9]+[a-z]+)(, or off)?([.:])`)

// kinds are the words for definitions.
var kinds = map[string]string{
	"doc": "text", "duration": "duration", "durationOrOff": "duration, or `off`", "goName": "a Go name", "ownGoName": "a Go name", "fieldType": "a type",
	"fields": "field → type, or [mapping](#a-field)", "settings": "[settings](#settings)", "jsonKey": "a name in JSON", "jsonKeys": "list of names in JSON",
	"wireName": "a name on the wire", "eventName": "the name of an event", "subscriptionName": "a name", "limitName": "a name", "fieldName": "a field",
	"pattern": "a pattern", "path": "a path", "importPath": "an import path", "bound": "a value of the type", "schemaName": "a name of a schema",
	"each": "[constraints](#constraints)", "limits": "list of limits, or `off`", "enum": "list, or value → [more](#a-value-of-an-enum)", "errors": "class → `permanent`, or `retry`",
	"lint": "rule → [severity](#a-rule-of-lint)", "breaker": "mapping, or `off`", "redrive": "mapping, or `off`", "max_snoozes": "1 to 1000000, or `off`",
	"mixins": "list of structs", "deprecated": "text", "header": "type, or [mapping](#a-header)",
}

// kindsOf are the words for schemas that are no definitions.
var kindsOf = map[string]string{
	"/properties/imports": "name → path, or [mapping](#an-import)", "/properties/limits": "name → [limit](#a-limit)", "/properties/headers": "name → type, or [mapping](#a-header)",
	"/properties/policies": "pattern → [settings](#settings)", "/properties/types": "name → [type](#a-type)", "/properties/events": "name → [event](#an-event)",
	"/properties/subscriptions": "name → [mapping](#a-subscription-for-patterns)", "/properties/groups": "name → [group](#a-group)",
	"/properties/schedules": "name → [schedule](#a-schedule)", "/properties/go_types": "built-in type → Go type", "/properties/accepted": "key → text",
	"/properties/cloudevents": "[mapping](#cloudevents)", "/definitions/event/properties/history": "version → [payload](#an-old-version), or `dropped`",
	"/definitions/event/properties/result": "type, or [mapping](#a-result)", "/definitions/event/properties/subscriptions": "name → [mapping](#a-subscription-of-an-event)",
	"/definitions/patternSubscription/properties/pattern": "a pattern, or a list", "/definitions/field/properties/was": "a name in JSON, or a list",
	"/definitions/type/properties/go": "[mapping](#a-go-type)", "/definitions/type/properties/one_of": "variant → struct", "/properties/include": "list of paths",
	"/definitions/breaker/anyOf/1/properties/by": "a field", "/definitions/redrive/anyOf/1/properties/reasons": "list of reasons", "/definitions/event/properties/examples": "list of payloads",
	"/definitions/schedule/properties/payload": "mapping", "/definitions/limit/properties/rate": "1 to 1000000 `per` duration", "/definitions/field/properties/default": "a value of the type",
	"/properties/initialisms": "list of words", "/definitions/event/properties/tags": "list of words", "/definitions/type/properties/type": "a type",
}

// kind says what a value is.
func (n *node) kind(t *testing.T, pointer string) string {
	t.Helper()
	if words := kindsOf[pointer]; words != "" {
		return words
	}
	if ref := n.at("$ref"); ref != nil {
		name := strings.TrimPrefix(ref.text(), "#/definitions/")
		if words := kinds[name]; words != "" {
			return words
		}
		return n.root.at("/definitions/"+name).kind(t, "/definitions/"+name)
	}
	least, most, below := n.at("minimum").text(), n.at("maximum").text(), n.at("exclusiveMaximum").text()
	switch {
	case n.at("const") != nil:
		return "`" + n.at("const").text() + "`"
	case n.at("enum") != nil:
		var words []string
		for _, word := range n.at("enum").list {
			words = append(words, "`"+word.text()+"`")
		}
		return strings.Join(words, ", ")
	case below != "":
		return "at least " + least + ", less than " + below
	case most != "":
		return least + " to " + most
	}
	switch kind := n.at("type").text(); {
	case kind == "boolean":
		return "`true` or `false`"
	case kind == "string":
		return "text"
	case kind == "array" && n.at("items/$ref") != nil:
		return "list of names"
	case kind == "array":
		return "list"
	case kind == "object" && n.at("properties") != nil:
		return "mapping"
	}
	t.Errorf("there are no words for %s", pointer)
	return ""
}

// plain returns a value as encoding/json has it.
func (n *node) plain() any {
	switch {
	case n.object != nil || n.scalar == nil && n.list == nil:
		all := map[string]any{}
		for _, m := range n.object {
			all[m.key] = m.value.plain()
		}
		return all
	case n.list != nil:
		all := []any{}
		for _, one := range n.list {
			all = append(all, one.plain())
		}
		return all
	}
	return n.scalar
}

// free is a text that needs no quotes in YAML.
var free = regexp.MustCompile(`^[A-Za-z./][^,:#\[\]{}|?*"]*$`)

// flow returns a value as it is written in YAML, on one line.
func (n *node) flow() string {
	var parts []string
	switch {
	case n.list != nil:
		for _, one := range n.list {
			parts = append(parts, one.flow())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.object != nil:
		for _, m := range n.object {
			parts = append(parts, quoted(m.key)+": "+m.value.flow())
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case n.scalar == nil:
		return "{}"
	}
	if text, ok := n.scalar.(string); ok {
		return quoted(text)
	}
	return n.text()
}

func quoted(text string) string {
	if free.MatchString(text) || regexp.MustCompile(`^(https?://[^ {]*|[0-9]+[a-z]|[a-z.]+\*|1)$`).MatchString(text) {
		return text
	}
	return `"` + text + `"`
}
