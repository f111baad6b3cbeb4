package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalog/parse/settings"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/format"
)

// beyondASchema lists the findings that a schema cannot have: those of a rule
// whose text matches.
var beyondASchema = []struct {
	rule *diag.Rule
	text string
	why  string
}{
	{rules.Encoding, "", "a schema sees values, not bytes"},
	{rules.Syntax, "", "a schema sees values, not bytes"},
	{rules.OneDocument, "", "a schema sees one document"},
	{rules.Alias, "", "a schema sees what an alias stands for"},
	{rules.DuplicateKey, "", "a schema sees one of two equal keys"},
	{rules.Package, "of an included file", "a package of the root may have such a name"},
	{rules.Packages, "", "what is declared elsewhere"},
	{rules.Import, "", "what is on the disk"},
	{rules.Include, "there is|no file|cannot be read|already|itself|not a pattern|wildcards", "what is on the disk"},
	{rules.DuplicateName, "subscription|alias|in two files|former name|present name", "names in different places"},
	{rules.History, "at version|dropped, but", "keys and values in different places"},
	{rules.Reserved, "", "Go names"},
	{rules.ReservedField, "", "keys and values in different places"},
	{rules.Collision, "", "Go names"},
	{rules.UnknownType, `unknown type "([a-z]+\.)?[A-Z]`, "what is declared elsewhere"},
	{rules.RecursiveType, "", "what is declared elsewhere"},
	{rules.Union, "not a struct|both|the discriminator|another catalogue|is in package", "what is declared elsewhere"},
	{rules.PolicyTie, "", "keys in different places"},
	{rules.PolicyUnused, "", "keys in different places"},
	{rules.DelayOrder, "", "values in different places"},
	{rules.Partition, "", "what is declared elsewhere"},
	{rules.Dedupe, "", "what is declared elsewhere"},
	{rules.Await, "", "what is declared elsewhere"},
	{rules.Schedule, "", "expressions, time zones, and what is declared elsewhere"},
	{rules.Limit, "declared|twice| is by |ten years", "what is declared elsewhere"},
	{rules.Breaker, "", "what is declared elsewhere"},
	{rules.OutOfRange, "^rate of .* is per ", "a duration is a text"},
	{rules.Example, "", "values by types that are declared elsewhere"},
	{rules.Default, "", "values by types that are declared elsewhere"},
	{rules.Header, "^schedule|has the type .*, and header|in Go, and header", "what is declared elsewhere"},
	{rules.Group, "has only one member|has no members", "names in different places"},
	{rules.Constraint, "", "values by types that are declared elsewhere"},
	{rules.Mixin, "is a mixin of itself|is not a struct", "what is declared elsewhere"},
	{rules.DuplicateName, "has the JSON name|on the wire, and so is|and so has its mixin|both have a field", "names that are made of others, or are in different places"},
	{rules.Accepted, "there is no rule", "the words are those of another verb"},
	{rules.Enum, "has the number of", "values in different places"},
	{rules.BadType, "is nested in", "how deep a value is in others"},
	{rules.Number, "", "a schema sees the value of a number, not how it is written"},
	{rules.WrongKind, `tagged|a key of`, "a schema sees values without tags, and all keys as texts"},
	{rules.OutOfRange, `is -?[\d.]+(ns|us|µs|ms|s|m|h|d)|\d+d\d*h?`, "a duration is a text"},
}

func beyond(f *diag.Finding) bool {
	for _, b := range beyondASchema {
		if b.rule == f.Rule && regexp.MustCompile(b.text).MatchString(f.Message) {
			return true
		}
	}
	return f.Rule == rules.WrongKind && beyondFloat64(f.Hint)
}

// beyondFloat64 reports whether a hint is to put a number in quotes that no float64 is: for a schema it is a text.
func beyondFloat64(hint string) bool {
	_, quoted, _ := strings.Cut(hint, "put it in quotes: ")
	number, err := strconv.Unquote(quoted)
	if err != nil {
		return false
	}
	_, err = strconv.ParseFloat(number, 64)
	return errors.Is(err, strconv.ErrRange)
}

func TestOnlyNumbersBeyondFloat64AreTextsForTheSchemaOfCatalogues(t *testing.T) {
	schema := schemaIn(t, export.CatalogueSchema(), "")
	for number, isBeyond := range map[string]bool{"1e400": true, "-1.5e999": true, "1.5": false, "1e300": false, "12": false, "1e-400": false} {
		source := []byte("version: 1\npackage: p\nevents:\n  a.done:\n    doc: " + number + "\n")
		_, findings := parse.Text("events.yaml", source)
		if len(findings) != 1 || findings[0].Rule != rules.WrongKind {
			t.Fatalf("%s: the findings are %v", number, findings)
		}
		if got := beyond(findings[0]); got != isBeyond {
			t.Errorf("%s: the finding %q is exempt: %v, want %v", number, findings[0].Message, got, isBeyond)
		}
		judge(t, schema, "events.yaml", source, findings)
	}
}

// TestTheSchemaOfCataloguesAgreesWithTheReader compares answers on all catalogues of
// the repository, line by line: the schema accepts what has no findings, and where
// there is a finding that a schema can have, it complains in the same line.
func TestTheSchemaOfCataloguesAgreesWithTheReader(t *testing.T) {
	included, err := export.IncludedSchema()
	if err != nil {
		t.Fatal(err)
	}
	ofRoot, ofIncluded := schemaIn(t, export.CatalogueSchema(), ""), schemaIn(t, included, "")
	judged := map[bool]int{}
	used := map[*diag.Rule]bool{}
	for _, path := range everyCatalogue(t) {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := &parse.Trace{Files: parse.Disk{}}
		_, findings := parse.TextWith(files, path, source)
		judged[findings == nil]++
		for _, f := range findings {
			used[f.Rule] = true
		}
		judge(t, ofRoot, path, source, findings)
		for _, name := range files.Names {
			source, err := os.ReadFile(name)
			switch {
			case err != nil:
			case regexp.MustCompile(`(?m)^package:(.*\n)+events:`).Match(source): // it is imported
				judge(t, ofRoot, name, source, findings)
			default:
				judge(t, ofIncluded, name, source, findings)
			}
		}
	}
	if judged[true] < 3 || judged[false] < 20 {
		t.Errorf("judged %v", judged)
	}
	for _, b := range beyondASchema {
		if !used[b.rule] {
			t.Errorf("no catalogue has a finding of rule %s", b.rule)
		}
	}
}

// judge compares what a schema and the reader say of a file.
func judge(t *testing.T, schema *jsonschema.Schema, path string, source []byte, findings diag.Findings) {
	t.Helper()
	findings = slices.DeleteFunc(slices.Clone(findings), func(f *diag.Finding) bool { return f.Pos.File != path })
	root, ok := yamlRoot(source)
	if !ok {
		return
	}
	complaints := complaintsOf(schema, root)
	for _, f := range findings {
		if !beyond(f) && complaints[f.Pos.Line] == nil {
			t.Errorf("%s: the schema does not mind %s", path, f)
		}
	}
	for line, said := range complaints {
		if !slices.ContainsFunc(findings, func(f *diag.Finding) bool { return f.Pos.Line == line }) {
			t.Errorf("%s:%d: only the schema minds: %v", path, line, said)
		}
	}
}

func everyCatalogue(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../../examples/*.yaml", "../../templates/*/*.yaml", "../../bench/*.yaml", "../catalog/parse/testdata/cases/*/events.yaml", "testdata/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, paths...)
	}
	return all
}

// yamlRoot parses a file that is one YAML document without aliases.
func yamlRoot(source []byte) (*yaml.Node, bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	var doc yaml.Node
	if decoder.Decode(&doc) != nil || !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF) || hasAlias(&doc) {
		return nil, false
	}
	return doc.Content[0], true
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.ShortTag() == "!!merge" || slices.ContainsFunc(n.Content, hasAlias)
}

// complaintsOf returns what the schema says, by line.
func complaintsOf(schema *jsonschema.Schema, root *yaml.Node) map[int][]string {
	err := schema.Validate(jsonOf(root))
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	all := map[int][]string{}
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			if _, ofKey := e.ErrorKind.(*kind.PropertyNames); !ofKey { // those are about a text of its own
				visit(cause)
			}
		}
		if _, ofKey := e.ErrorKind.(*kind.PropertyNames); ofKey || len(e.Causes) == 0 {
			for _, line := range linesOf(root, e) {
				all[line] = append(all[line], fmt.Sprint(e.InstanceLocation, e.ErrorKind))
			}
		}
	}
	visit(invalid)
	return all
}

// linesOf is where the key and the value are that an error is about.
func linesOf(root *yaml.Node, e *jsonschema.ValidationError) []int {
	if k, ofKey := e.ErrorKind.(*kind.PropertyNames); ofKey {
		return keysOf(root, k.Property) // the library mixes up where it is
	}
	key, node := root, root
	for _, name := range e.InstanceLocation {
		key, node = entryOf(node, name)
	}
	lines := []int{key.Line, node.Line}
	if k, ofKeys := e.ErrorKind.(*kind.AdditionalProperties); ofKeys {
		lines = nil
		for _, name := range k.Properties {
			key, _ := entryOf(node, name)
			lines = append(lines, key.Line)
		}
	}
	return lines
}

// keysOf lists the lines of all keys of a name.
func keysOf(n *yaml.Node, name string) (lines []int) {
	for i, below := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && below.Value == name {
			lines = append(lines, below.Line)
		}
		lines = append(lines, keysOf(below, name)...)
	}
	return lines
}

func entryOf(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		i, err := strconv.Atoi(name)
		if err != nil || i >= len(n.Content) {
			return n, n
		}
		return n.Content[i], n.Content[i]
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 { // of equal keys the last one counts
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return n, n
}

// jsonOf converts YAML the way editors do: by the core schema of YAML 1.2.
func jsonOf(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[n.Content[i].Value] = jsonOf(n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, jsonOf(item))
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true" || n.Value == "True" || n.Value == "TRUE"
	case "!!int", "!!float":
		var f float64
		if n.Decode(&f) == nil {
			if text, err := json.Marshal(f); err == nil {
				return json.Number(text)
			}
		}
	}
	return n.Value
}

// TestTheSchemaHasTheLimitsOfTheReader compares answers on both sides of each limit
// of a number.
func TestTheSchemaHasTheLimitsOfTheReader(t *testing.T) {
	schema := schemaIn(t, export.CatalogueSchema(), "")
	around := map[string][]string{
		"defaults: { retry: { max_attempts: % } }":                         {"0", "1", "1000", "1001", "1.5"},
		"defaults: { retry: { max_retries: % } }":                          {"-1", "0", "999", "1000"},
		"defaults: { retry: { multiplier: % } }":                           {"0.99", "1", "1000", "1000.1"},
		"defaults: { retry: { jitter: % } }":                               {"-0.01", "0", "0.5", "0.51"},
		"defaults: { breaker: { threshold: % } }":                          {"-0.01", "0", "0.99", "1"},
		"defaults: { breaker: { min_samples: % } }":                        {"0", "1", "10000", "10001"},
		"defaults: { max_snoozes: % }":                                     {"0", "1", "1000000", "1000001", "off", "no"},
		"defaults: { redrive: { max: % } }":                                {"0", "1", "1000", "1001"},
		"types: { T: { fields: { f: { type: string, min_length: % } } } }": {"-1", "0", "1073741824", "1073741825"},
		"types: { T: { fields: { f: { type: string, max_length: % } } } }": {"-1", "0", "1073741824", "1073741825"},
		`types: { T: { fields: { f: { type: "[]int", min_items: % } } } }`: {"-1", "0", "1048576", "1048577"},
		`types: { T: { fields: { f: { type: "[]int", max_items: % } } } }`: {"-1", "0", "1048576", "1048577"},
		"types: { T: { enum: { a: % } } }":                                 {"-2147483649", "-2147483648", "2147483647", "2147483648"},
		"types: { T: { enum: { a: { number: % } } } }":                     {"-2147483649", "-2147483648", "2147483647", "2147483648"},
		`types: { T: { fields: { f: "%int" } } }`:                          {strings.Repeat("[]", 16), strings.Repeat("[]", 17), strings.Repeat("map[string]", 17)},
		"events: { a.done: { subscriptions: { %: {} } } }":                 {strings.Repeat("a", 200), strings.Repeat("a", 201)},
		"events: { a.done: { payload: { f: { type: int, was: [%] } } } }":  {"a", nameList(100), nameList(101)},
		"events: { a.done: { timeout: % } }":                               {"5s", "1d12h", "1.5h", ".5m", "3", "s", "-1s", "5 s", "1h2d", "µs", "\"\"", "off"},
		"events: { a.done: { slow_after: % } }":                            {"off", "5s", "never"},
		"events: { a.done: { slow_event_after: % } }":                      {"off", "5m", "5", "never"},
		"events: { a.done: { hold_unknown: % } }":                          {"off", "5m", "5", "never"},
		"events: { a.done: { priority: % } }":                              {"critical", "high", "normal", "low", "urgent"},
		"events: { a.done: { retry: { backoff: % } } }":                    {"exponential", "linear", "constant", "none", "cubic"},
		"events: { a.done: { tags: [%] } }":                                {"a", "a-b", "A", "a--b", "a, a"},
		"limits: { a: { at_once: % } }":                                    {"0", "1", "1000000", "1000001", "1.5"},
		"limits: { a: { rate: % } }":                                       {"1 per 1s", "1000000 per 1m", "1000001 per 1m", "0 per 1s", "07 per 1s", "5", "5 per", "5per 1s", "5  per 1d12h", "5 per 1"},
		"limits: { %: { at_once: 1 } }":                                    {"a", "a-b.c_d", "A", "a--b", strings.Repeat("a", 200), strings.Repeat("a", 201)},
		"limits: { a: { at_once: 1 } }\ndefaults: { limits: % }":           {"off", "[]", "[a]", "a", "{ a: {} }", "[{ limit: a }]", "[{ by: a }]", "[a, a]", "[3]"},
		"events: { %: {} }":                                                {"a", "a.b", "a_b.c1", "a.", "A", "a..b", "1a", "a.b-c", strings.Repeat("a", 300)},
		`policies: { "%": {} }`:                                            {"*", "a.*", "*.done", "a.*.done", "a*", "a.**", ""},
		"types: { T: { go: { import: %, type: Addr }, type: string } }":    {"net/netip", "unsafe", "C", "a b", "/a", "../x", "./x", "a/../b", "a/./b", "a//b", "a/...", "a.", "a./b", ".a/b", "a/.b", "-a", "a/-b", "con", "a/Con/b", "a/aux.go", "a/lpt0", "a/com1", "a/x~1", "a/x~1.go", "a/x~y", "a/~1", "vendor", "a/vendor/b", "a/vendors", "a/internal", "gopkg.in/yaml.v3", "a+b"},
		"types: { T: { one_of: { %: { fields: {} } } } }":                  {"a", "A-b", "a b", "-a"},
		`types: { T: { enum: ["%"] } }`:                                    {"a", "-", "é", "a\\tb", "1", " "},
	}
	for format, values := range around {
		for _, value := range values {
			agree(t, schema, strings.Replace(format, "%", value, 1))
		}
	}
	for _, name := range append(types.Universe.Names(), "func", "type", "events", "Événements", "e2", "2e", "a-b", "_", "main", "a_test", "breaker", "context", "json", "retry", "runtime", "strconv", "time", "uuid", "wire") {
		agree(t, schema, "package: "+strconv.Quote(name))
	}
}

// agree compares answers on a catalogue that is right but for what the piece says.
func agree(t *testing.T, schema *jsonschema.Schema, piece string) {
	t.Helper()
	source := piece + "\nversion: 1\n"
	for key, rest := range map[string]string{"package": "package: p\n", "events": "events: { a.done: {} }\n"} {
		if !strings.HasPrefix(piece, key+":") {
			source += rest
		}
	}
	_, findings := parse.Text("events.yaml", []byte(source))
	findings = slices.DeleteFunc(findings, func(f *diag.Finding) bool { return f.Rule == rules.PolicyUnused })
	root, ok := yamlRoot([]byte(source))
	if !ok {
		t.Fatalf("not YAML: %s", source)
	}
	err := schema.Validate(jsonOf(root))
	if (err == nil) != (len(findings) == 0) {
		t.Errorf("%s: the schema says %v, the reader %v", piece, err, findings)
	}
}

// The words in the schema are those of the reader.
func TestTheSchemaOfCataloguesKnowsTheWordsOfTheLanguage(t *testing.T) {
	var schema any
	if err := json.Unmarshal(export.CatalogueSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string][]string{
		"#/definitions/lint/propertyNames/enum":                       rules.IDs(rules.Of(diag.Lint)),
		"#/definitions/severity/enum":                                 diag.SeverityWords(),
		"#/definitions/field/properties/format/enum":                  format.Names(),
		"#/definitions/redrive/anyOf/1/properties/reasons/items/enum": settings.RedriveReasons(),
	} {
		var got []string
		values, _ := inside(schema, pointer).([]any)
		for _, v := range values {
			got = append(got, fmt.Sprint(v))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-reader +schema):\n%s", pointer, diff)
		}
	}
}

// The rules of names in the schema are those of the reader.
func TestTheSchemaOfCataloguesKnowsTheRulesOfNames(t *testing.T) {
	var schema any
	if err := json.Unmarshal(export.CatalogueSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]any{
		"#/definitions/fieldName/pattern":          catalog.FieldName.String(),
		"#/definitions/subscriptionName/pattern":   catalog.SubscriptionName.String(),
		"#/definitions/subscriptionName/maxLength": float64(format.MaxSubscriptionName),
	} {
		if got := inside(schema, pointer); got != want {
			t.Errorf("%s is %v, want %v", pointer, got, want)
		}
	}
}

// nameList are so many names of fields.
func nameList(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	return strings.Join(names, ", ")
}

func inside(value any, pointer string) any {
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
		if list, ok := value.([]any); ok {
			i, _ := strconv.Atoi(key)
			value = list[i]
			continue
		}
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

func TestTheSchemaOfCataloguesIsOneOfTheStandard(t *testing.T) {
	metaschema := schemaIn(t, []byte(`{"$ref": "http://json-schema.org/draft-07/schema"}`), "")
	if err := metaschema.Validate(unmarshal(t, export.CatalogueSchema())); err != nil {
		t.Error(err)
	}
}
