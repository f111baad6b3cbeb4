package importer_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer"
	"github.com/busgen/busgen/internal/importer/files"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/templates"
)

var (
	contractsIn  = flag.String("contracts", os.Getenv("BUSGEN_CONTRACTS"), "a folder of documents that others wrote, or a list of documents in one")
	showExamples = flag.Bool("contracts.examples", true, "give examples in files to the import of a JSON Schema, as --example does")
	onlyImport   = flag.Bool("contracts.import", false, "import the documents only, and compile nothing")
)

// TestContracts imports documents that others wrote, which are not in this repository, compiles what comes of it, and
// sends the examples through: decode, validate, encode. It prints a table. -contracts names a folder, or a file with a
// line for each document of its folder:
//
//	orders/asyncapi.yaml
//	orders/placed.schema.json root=orders examples=orders/examples/placed/*.json
//
// Without root a $ref may lead anywhere in the folder; examples are files with payloads, besides those in the
// document. The import of a JSON Schema is given them, as with --example, unless -contracts.examples is false. Examples
// that the document itself does not allow can fail; the table tells why.
func TestContracts(t *testing.T) {
	if *contractsIn == "" {
		t.Skip("-contracts names no folder")
	}
	base, all := contractsBelow(t, *contractsIn)
	folder, err := os.OpenRoot(base)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for _, c := range all {
		t.Run(c.path, func(t *testing.T) { c.importIt(t, base) })
	}
	if *onlyImport {
		for _, c := range all {
			c.checkExamples()
		}
	} else {
		compileContracts(t, all)
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "document\tevents\ttypes\tfindings (error/warning/note)\tnames\tlost names\tcompiles\texamples\tsame\tlost in examples")
	imported, kept, same := 0, 0, 0
	for _, c := range all {
		if c.catalogue != nil {
			imported++
		}
		if c.catalogue != nil && len(c.lost) == 0 {
			kept++
		}
		if c.compiles == "yes" && c.same == len(c.examples) {
			same++
		}
		fmt.Fprintln(w, c.row())
	}
	w.Flush()
	t.Logf("\n%s\n%d documents, %d imported, %d of them keep every name, all examples of %d come back the same", table.String(), len(all), imported, kept, same)
}

// A contract is one document of the test, and what came of it.
type contract struct {
	path, root string
	globs      []string

	result    *importer.Result
	renamed   bool
	took      time.Duration
	catalogue *catalog.Catalogue
	names     []string
	lost      []string
	compiles  string
	examples  []example
	given     []example // those in files, besides
	same      int
	losses    map[string]int
}

// An example is a payload, and what it is after decoding, validating and encoding.
type example struct {
	where   string
	payload []byte
}

func (c *contract) row() string {
	count := map[diag.Severity]int{}
	for _, f := range c.result.Findings {
		count[f.Severity]++
	}
	events, types := 0, 0
	if c.catalogue != nil {
		events, types = len(c.catalogue.Events), len(c.catalogue.Types)
	}
	found := fmt.Sprintf("%d/%d/%d", count[diag.Error], count[diag.Warning], count[diag.Note])
	if c.renamed {
		found += " --rename-keys"
	}
	if c.took > 5*time.Second {
		found += fmt.Sprintf(" %.0f s", c.took.Seconds())
	}
	lost := strings.Join(c.lost[:min(4, len(c.lost))], " ")
	if len(c.lost) > 4 {
		lost += fmt.Sprintf(" … (%d)", len(c.lost))
	}
	var losses []string
	for what, n := range c.losses {
		losses = append(losses, fmt.Sprintf("%s ×%d", what, n))
	}
	sort.Strings(losses)
	if len(losses) > 6 {
		losses = append(losses[:6], fmt.Sprintf("and %d more", len(losses)-6))
	}
	reason := ""
	if c.catalogue == nil {
		for _, f := range c.result.Findings {
			if f.Severity == diag.Error {
				reason = f.Message
			}
		}
	}
	return fmt.Sprintf("%s\t%d\t%d\t%s\t%d\t%s\t%s\t%d\t%d\t%s", c.path, events, types, found, len(c.names), lost, c.compiles, len(c.examples), c.same, reason+strings.Join(losses, "; "))
}

// contractsBelow finds the documents.
func contractsBelow(t *testing.T, name string) (base string, all []*contract) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if !info.IsDir() {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base = filepath.Dir(name)
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			paths, _ := filepath.Glob(filepath.Join(base, words[0]))
			for _, path := range paths {
				path, _ = filepath.Rel(base, path)
				c := &contract{path: path, root: "."}
				for _, word := range words[1:] {
					key, value, _ := strings.Cut(word, "=")
					switch key {
					case "root":
						c.root = value
					case "examples":
						c.globs = append(c.globs, strings.ReplaceAll(value, "{folder}", filepath.Base(filepath.Dir(path))))
					default:
						t.Fatalf("%s: %q is neither root nor examples", name, word)
					}
				}
				all = append(all, c)
			}
			if len(paths) == 0 {
				t.Errorf("%s: there is no %s", name, words[0])
			}
		}
		return base, all
	}
	filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(path)) {
			if source, err := os.ReadFile(path); err == nil && kindOfDocument(source) != "" {
				relative, _ := filepath.Rel(name, path)
				all = append(all, &contract{path: relative, root: "."})
			}
		}
		return nil
	})
	return name, all
}

// kindOfDocument is empty for what is none.
func kindOfDocument(source []byte) string {
	var keys map[string]any
	if yaml.Unmarshal(source, &keys) != nil {
		return ""
	}
	switch {
	case keys["asyncapi"] != nil:
		return "asyncapi"
	case keys["openapi"] != nil:
		return "openapi"
	case keys["$schema"] != nil, keys["$defs"] != nil, keys["definitions"] != nil, keys["properties"] != nil, keys["allOf"] != nil, keys["oneOf"] != nil, keys["$ref"] != nil:
		return "jsonschema"
	}
	return ""
}

func (c *contract) importIt(t *testing.T, base string) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(base, c.path))
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(base, c.root))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	within, _ := filepath.Rel(c.root, c.path)
	o := importer.Options{Files: &files.Folder{FS: root.FS(), Path: filepath.ToSlash(within), Name: c.root}}
	c.findExamples(t, base, source)
	if *showExamples {
		for _, e := range c.given {
			o.Examples = append(o.Examples, importer.Example{File: e.where, Source: e.payload})
		}
	}
	start := time.Now()
	c.result = importer.Import(c.path, source, o)
	if c.result.KeysWouldChange {
		c.renamed, o.RenameKeys = true, true
		c.result = importer.Import(c.path, source, o)
	}
	c.took = time.Since(start)
	c.losses = map[string]int{}
	if testing.Verbose() {
		t.Logf("%s\n%s", c.path, rendered(c.result))
	}
	if c.result.Catalogue == nil {
		c.compiles = "-"
		return
	}
	requireLoads(t, c.result)
	c.catalogue, _ = parse.Text("events.yaml", c.result.Catalogue)
	c.names = importer.NamesOf(c.path, source, o)
	exported := map[string]bool{}
	for _, export := range []func(*catalog.Catalogue) ([]byte, error){
		export.JSONSchema, func(c *catalog.Catalogue) ([]byte, error) { return export.AsyncAPI(c, export.Info{Version: "1"}) },
	} {
		text, err := export(c.catalogue)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		var document any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		here := map[string]bool{}
		propertiesIn(document, here)
		for _, name := range c.names {
			if !here[name] && !exported[name] {
				exported[name] = true
				c.lost = append(c.lost, name)
			}
		}
	}
}

// propertiesIn collects the names of properties in a document.
func propertiesIn(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if properties, ok := inner.(map[string]any); ok && key == "properties" {
				for name := range properties {
					into[name] = true
				}
			}
			propertiesIn(inner, into)
		}
	case []any:
		for _, inner := range v {
			propertiesIn(inner, into)
		}
	}
}

// findExamples finds the payloads in the document, without the help of the importer, and those in files.
func (c *contract) findExamples(t *testing.T, base string, source []byte) {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(source, &document); err != nil {
		t.Errorf("%s: %v", c.path, err)
	}
	add := func(where string, payload any) {
		text, err := json.Marshal(payload)
		if _, ok := payload.(map[string]any); ok && err == nil {
			c.examples = append(c.examples, example{where, text})
		}
	}
	root, _ := document.(map[string]any)
	switch {
	case root["asyncapi"] != nil:
		c.inMessages(document, filepath.Join(base, filepath.Dir(c.path)), "", add)
	case root["openapi"] != nil:
		for _, key := range []string{"webhooks", "x-webhooks"} {
			c.inContents(root, root[key], key, add)
		}
		c.inCallbacks(root, root["paths"], add)
	default:
		inSchema(root, "", add)
		for _, key := range []string{"$defs", "definitions"} {
			defs, _ := root[key].(map[string]any)
			for name, def := range defs {
				if def, ok := def.(map[string]any); ok && root["properties"] == nil {
					inSchema(def, key+"/"+name, add)
				}
			}
		}
	}
	for _, glob := range c.globs {
		paths, _ := filepath.Glob(filepath.Join(base, glob))
		for _, path := range paths {
			payload, err := exampleIn(path)
			if err != nil {
				t.Error(err)
				continue
			}
			if text, err := json.Marshal(payload); err == nil {
				c.given = append(c.given, example{filepath.Base(path), text})
			}
			add(filepath.Base(path), payload)
		}
	}
}

// exampleIn reads an example. One with a $ref has what is in the other file, and what it says itself.
func exampleIn(path string) (any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var payload any
	if strings.HasPrefix(filepath.Ext(path), ".y") {
		err = yaml.Unmarshal(text, &payload)
	} else {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err = decoder.Decode(&payload)
	}
	example, ok := payload.(map[string]any)
	ref, extends := example["$ref"].(string)
	if !ok || !extends || err != nil {
		return payload, err
	}
	delete(example, "$ref")
	other, err := exampleIn(filepath.Join(filepath.Dir(path), filepath.FromSlash(ref)))
	if others, ok := other.(map[string]any); ok {
		maps.Copy(others, example)
		return others, err
	}
	return payload, err
}

func inSchema(schema map[string]any, where string, add func(string, any)) {
	if list, ok := schema["examples"].([]any); ok {
		for i, e := range list {
			add(fmt.Sprintf("%s/examples/%d", where, i), e)
		}
	}
	if one, ok := schema["example"]; ok {
		add(where+"/example", one)
	}
}

func (c *contract) inMessages(v any, folder, where string, add func(string, any)) {
	switch v := v.(type) {
	case map[string]any:
		if list, ok := v["examples"].([]any); ok && v["payload"] != nil {
			for i, e := range list {
				other, _ := e.(map[string]any)
				if to, ok := other["$ref"].(string); ok {
					e, _ = exampleIn(filepath.Join(folder, filepath.FromSlash(to)))
				}
				if e, ok := e.(map[string]any); ok && e["payload"] != nil {
					add(fmt.Sprintf("%s/examples/%d", where, i), e["payload"])
				}
			}
		}
		if payload, ok := v["payload"].(map[string]any); ok {
			inSchema(payload, where+"/payload", add)
		}
		for key, inner := range v {
			if key != "examples" && key != "payload" {
				c.inMessages(inner, folder, where+"/"+key, add)
			}
		}
	case []any:
		for i, inner := range v {
			c.inMessages(inner, folder, fmt.Sprintf("%s/%d", where, i), add)
		}
	}
}

func (c *contract) inContents(root map[string]any, v any, where string, add func(string, any)) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for key, inner := range m {
		content, ok := inner.(map[string]any)
		if key != "content" || !ok {
			if key != "responses" {
				c.inContents(root, inner, where+"/"+key, add)
			}
			continue
		}
		for kind, media := range content {
			media, ok := media.(map[string]any)
			if !ok || !strings.Contains(kind, "json") {
				continue
			}
			if one, ok := media["example"]; ok {
				add(where+"/example", one)
			}
			examples, _ := media["examples"].(map[string]any)
			for name, e := range examples {
				e, _ := e.(map[string]any)
				if to, ok := e["$ref"].(string); ok {
					e, _ = at(root, to).(map[string]any)
				}
				add(where+"/examples/"+name, e["value"])
			}
		}
	}
}

// at follows a pointer in one document.
func at(root any, to string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
		m, _ := root.(map[string]any)
		root = m[part]
	}
	return root
}

func (c *contract) inCallbacks(root map[string]any, v any, add func(string, any)) {
	m, _ := v.(map[string]any)
	for key, inner := range m {
		if key == "callbacks" {
			c.inContents(root, inner, key, add)
		} else {
			c.inCallbacks(root, inner, add)
		}
	}
}

// checkExamples asks the reader of examples, which needs no compiler, what payloads have that the catalogue does not
// take.
func (c *contract) checkExamples() {
	if c.catalogue == nil {
		return
	}
	for _, e := range c.examples {
		var least []string
		for i, event := range c.catalogue.Events {
			if problems := problems(event, c.catalogue, e.payload); i == 0 || len(problems) < len(least) {
				least = problems
			}
		}
		if len(least) == 0 {
			c.same++
		}
		for _, l := range least {
			c.losses[l]++
		}
	}
}

// problems are what a payload has that an event does not take.
func problems(event *catalog.Event, in *catalog.Catalogue, example []byte) (all []string) {
	var wrong *payload.Error
	if err := payload.Check(in, event.Name.V, event.Version.V, example); errors.As(err, &wrong) {
		for _, p := range wrong.Problems {
			all = append(all, p.String())
		}
	} else if err != nil {
		all = []string{err.Error()}
	}
	return all
}

// compileContracts generates a package for each document, compiles all, and sends the examples through a program that
// uses those that compile.
func compileContracts(t *testing.T, all []*contract) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	put := func(name string, content []byte) {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, string, error) {
		var out, errs bytes.Buffer
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &errs
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		err := cmd.Run()
		return out.String(), errs.String(), err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		put(name, text)
	}
	if _, errs, err := run("mod", "edit", "-module=example.com/contracts", "-droptool=github.com/busgen/busgen/cmd/busgen",
		"-require=github.com/busgen/busgen@v0.0.0", "-replace=github.com/busgen/busgen="+repository); err != nil {
		t.Fatal(err, errs)
	}
	for i, c := range all {
		if c.catalogue == nil {
			continue
		}
		files, err := templates.Files(c.catalogue, templates.Target{ImportPath: fmt.Sprintf("example.com/contracts/p%d", i)})
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		for _, f := range files {
			put(fmt.Sprintf("p%d/%s", i, f.Name), f.Content)
		}
	}
	_, errs, err := run("build", "./...")
	for i, c := range all {
		if c.catalogue == nil {
			continue
		}
		c.compiles = "yes"
		if at := strings.Index(errs, fmt.Sprintf("# example.com/contracts/p%d\n", i)); err != nil && at >= 0 {
			c.compiles = "no"
			message, _, _ := strings.Cut(errs[at:], "\n# ")
			t.Errorf("%s does not compile:\n%.1500s", c.path, message)
		}
	}
	put("main.go", contractsProgram(all))
	var input bytes.Buffer
	for i, c := range all {
		for j, e := range c.examples {
			if c.catalogue == nil {
				break
			}
			line, _ := json.Marshal(map[string]any{"contract": i, "example": j, "payload": json.RawMessage(e.payload)})
			input.Write(append(line, '\n'))
		}
	}
	put("examples.jsonl", input.Bytes())
	out, errs, err := run("run", ".")
	if err != nil {
		t.Fatalf("%v\n%.3000s", err, errs)
	}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r struct {
			Contract, Example int
			Results           []struct {
				Event, Error string
				Payload      json.RawMessage
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		c := all[r.Contract]
		var least []string
		fewest := 0
		for i, one := range r.Results {
			losses := differences(c.examples[r.Example].payload, one.Payload)
			count := len(losses)
			if one.Error != "" {
				losses, count = []string{one.Event + ": " + one.Error}, 1+len(problems(c.catalogue.Events[i], c.catalogue, c.examples[r.Example].payload))
			}
			if i == 0 || count < fewest || count == fewest && one.Error == "" {
				least, fewest = losses, count
			}
		}
		if len(least) == 0 {
			c.same++
		}
		for _, l := range least {
			c.losses[l]++
		}
		if len(least) > 0 && testing.Verbose() {
			t.Logf("%s %s: %s", c.path, c.examples[r.Example].where, strings.Join(least, "; "))
		}
	}
}

func contractsProgram(all []*contract) []byte {
	var b bytes.Buffer
	b.WriteString("package main\n\nimport (\n\t\"bufio\"\n\t\"encoding/json\"\n\t\"os\"\n\n\t\"github.com/busgen/busgen/runtime\"\n\t\"github.com/busgen/busgen/runtime/gen/wire\"\n")
	for i, c := range all {
		if c.compiles == "yes" && len(c.examples) > 0 {
			fmt.Fprintf(&b, "\n\tp%d \"example.com/contracts/p%d\"", i, i)
		}
	}
	b.WriteString("\n)\n\nfunc init() {\n")
	for i, c := range all {
		if c.compiles == "yes" && len(c.examples) > 0 {
			for _, e := range c.catalogue.Events {
				fmt.Fprintf(&b, "\tadd[p%d.%s](%d, %q)\n", i, e.GoName, i, e.Name.V)
			}
		}
	}
	b.WriteString(`}

type event struct {
	name string
	pass func([]byte) ([]byte, error)
}

var events = map[int][]event{}

func add[T runtime.Payload](contract int, name string) {
	events[contract] = append(events[contract], event{name, func(payload []byte) ([]byte, error) {
		codec := wire.NewCodec[T]()
		value, err := codec.Decode(payload)
		if err != nil {
			return nil, err
		}
		if err := value.Validate(); err != nil {
			return nil, err
		}
		return codec.Encode(value)
	}})
}

type result struct {
	Event   string
	Error   string
	Payload json.RawMessage
}

func main() {
	file, _ := os.Open("examples.jsonl")
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct {
			Contract, Example int
			Payload           json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			panic(err)
		}
		var results []result
		for _, one := range events[e.Contract] {
			r := result{Event: one.name}
			payload, err := one.pass(e.Payload)
			if err != nil {
				r.Error = err.Error()
			} else {
				r.Payload = payload
			}
			results = append(results, r)
		}
		json.NewEncoder(os.Stdout).Encode(map[string]any{"contract": e.Contract, "example": e.Example, "results": results})
	}
}
`)
	return b.Bytes()
}

// differences says what one JSON value has and the other has not, by the kind of the difference and the name of the
// property.
func differences(before, after []byte) (all []string) {
	read := func(text []byte) (v any) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		decoder.Decode(&v)
		return v
	}
	var compare func(name string, a, b any)
	compare = func(name string, a, b any) {
		switch a := a.(type) {
		case map[string]any:
			other, ok := b.(map[string]any)
			if !ok {
				all = append(all, "another type: "+name)
				return
			}
			for key, value := range a {
				got, ok := other[key]
				switch {
				case ok:
					compare(key, value, got)
				case value == nil:
					all = append(all, "null is absent: "+key)
				default:
					all = append(all, "gone: "+key)
				}
			}
			for key := range other {
				if _, ok := a[key]; !ok {
					all = append(all, "new: "+key)
				}
			}
		case []any:
			other, ok := b.([]any)
			if !ok || len(a) != len(other) {
				all = append(all, "another list: "+name)
				return
			}
			for i := range a {
				compare(name, a[i], other[i])
			}
		case json.Number:
			other, ok := b.(json.Number)
			x, _ := new(big.Rat).SetString(a.String())
			y, _ := new(big.Rat).SetString(other.String())
			if !ok || x == nil || y == nil || x.Cmp(y) != 0 {
				all = append(all, "another number: "+name)
			}
		case string:
			other, _ := b.(string)
			if a == other {
				return
			}
			x, err := time.Parse(time.RFC3339Nano, a)
			y, otherErr := time.Parse(time.RFC3339Nano, other)
			if err == nil && otherErr == nil && x.Equal(y) {
				all = append(all, "the same time in other words: "+name)
				return
			}
			all = append(all, "another text: "+name)
		default:
			if a != b {
				all = append(all, "another value: "+name)
			}
		}
	}
	compare("", read(before), read(after))
	slices.Sort(all)
	return slices.Compact(all)
}
