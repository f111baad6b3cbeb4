package compiletest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/templates"
)

// hostileTexts are those that make generators write what they do not mean.
var hostileTexts = []string{
	"Plain.",
	"*/", "/* */ */", "// //", "*/ func init() { panic(1) } /*", "a */\nb", "/*",
	"`", "`` ` ```", "` + os.Getenv(\"HOME\") + `", `"`, `\`, `\"`, `\n`, `"; panic(1); "`, `'`, "\\`",
	"a\nb", "a\n\nb", "a\r\nb", "a\rb", "a\u0085b", "a\u2028b", "a\u2029b", "a\tb", "a  b", " a ", "\na\n", "a\vb\fc",
	"//go:build ignore", "go:build ignore", "//go:embed /etc/passwd", "//go:generate rm -rf /", "//line x.go:1", "//nolint", "//export F", "#cgo LDFLAGS: -x", "#include <x.h>",
	"+build ignore", "a\n+build ignore", "\t+build ignore", "package evil", "import \"os\"", "func main() {}", "}", "{", ")\n}\nfunc x() {",
	"Deprecated: not at all.", "a\n\nDeprecated: not at all.", "BUG(x): y", "# heading", "- item", "1. item", "\tcode {", "[link]: https://example.org", "[OrderPlaced]", "TODO",
	"%s %d %!v(MISSING) %", "${x} $(x) $x", "{{.}} {{define \"x\"}}", "<script>alert(1)</script>", "--> <!--", "]]>", "&amp; <b>",
	"a\u202Eb\u2066c\u2069", "a\u200Bb", "a\u200Db", "a\uFEFFb", "\uFEFF", "a\u00ADb", "a\u0000b", "a\u0007b\u001B[31m", "a\u007Fb", "a\u009Bb", "\uFFFD", "\uE000", "\U000F0000", "\U0010FFFF",
	"日本語", "é", "e\u0301", "ﬁ ﬂ", "ß ẞ", "ｆｕｌｌ", "İi", "😀", "👨\u200D👩\u200D👧", "\u0301", "א ב", "١٢٣", "ǅ", "ⅷ",
	"nil", "true", "null", "~", "yes", "12", "1e3", "0x10", ".inf", "2024-02-29", "=", "<<", "- a", "? a", ": a", "a: b", "a #b", "&a", "*a", "!!str a", "@a", "%a",
	"type", "func", "string", "error", "Validate", "runtime",
	strings.Repeat("x", 300), strings.Repeat("word ", 150), strings.Repeat("*/ ", 100),
}

// hostileNames are words that Go, generated code or its imports use.
func hostileNames() []string {
	names := strings.Fields(`
		append bool byte cap clear close comparable complex complex64 complex128 copy delete error false float32 float64 imag int int8 int16 int32 int64 iota
		len make max min new nil panic print println real recover rune string true uint uint8 uint16 uint32 uint64 uintptr any init main
		runtime retry wire breaker deep uuid json time context strconv regexp slices maps bytes fmt errors
		validate clone equal write_json read_json marshal_json unmarshal_json open catalogue subscribe_all any_event event payload problems
		p v w r e i d b t ok err ctx bus opts handler self other value item key data out contract sample all visit shape name doc`)
	for tok := token.BREAK; tok <= token.VAR; tok++ {
		if tok.IsKeyword() {
			names = append(names, tok.String())
		}
	}
	return names
}

// yamlOf writes a text so that every character of it is plain ASCII.
func yamlOf(text string) string { return strconv.QuoteToASCII(text) }

// A spot is a place of a catalogue for texts of any kind.
type spot struct {
	alone   string // a catalogue with %s for the text, or for the pattern that takes it
	refuses func(text string) bool
	in      string // the Go name whose comment has the text, with # for the number of the text; empty for none
}

func never(string) bool      { return false }
func empty(text string) bool { return strings.TrimSpace(text) == "" }

// unseen tells texts that no enum has as a value.
func unseen(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// noJSONName and noWire tell texts that cannot be names in JSON and on the wire.
func noJSONName(text string) bool { return catalog.CheckJSONName(text) != "" }
func noWire(text string) bool     { return glob.ValidWire(text) != nil }

func severalLines(text string) bool {
	return empty(text) || strings.ContainsAny(strings.TrimSpace(text), "\r\n")
}

var spots = map[string]spot{
	"doc of an event":         {`events: { a: { doc: %s } }`, never, "E#Happened"},
	"deprecated of an event":  {`events: { a: { deprecated: %s } }`, empty, "E#Happened"},
	"owner of an event":       {`events: { a: { owner: %s } }`, severalLines, "E#Happened"},
	"doc of a subscription":   {`events: { a: { subscriptions: { s: { doc: %s } } } }`, never, "OnE#HappenedS#"},
	"doc of an old version":   {`events: { a: { version: 2, history: { 1: { doc: %s } } } }`, never, "E#HappenedV1"},
	"doc of a field":          {`events: { a: { payload: { f: { type: int, doc: %s } } } }`, never, "E#Happened.F"},
	"deprecated of a field":   {`events: { a: { payload: { f: { type: int, deprecated: %s } } } }`, empty, "E#Happened.F"},
	"example":                 {`events: { a: { payload: { f: string }, examples: [{ f: %s }] } }`, never, ""},
	"wire":                    {`events: { a: { wire: %s } }`, noWire, ""},
	"alias":                   {`events: { a: { aliases: [%s] } }`, noWire, ""},
	"json":                    {`events: { a: { payload: { f_f: { type: int, json: %s } } } }`, noJSONName, ""},
	"was":                     {`events: { a: { payload: { f_f: { type: int, was: %s } } } }`, noJSONName, ""},
	"was, in a list":          {`events: { a: { payload: { f_f: { type: int, was: [x, %s] } } } }`, noJSONName, ""},
	"reserved":                {`events: { a: { reserved: [%s] } }`, noJSONName, ""},
	"discriminator":           {`types: { T: { discriminator: %s, one_of: { x: { fields: {} } } } }`, noJSONName, ""},
	"pattern":                 {`events: { a: { payload: { f: { type: "string?", pattern: %s } } } }`, never, ""},
	"default":                 {`events: { a: { payload: { f: { type: "string?", default: %s } } } }`, never, ""},
	"default of all":          {`events: { a: { payload: { f: { type: string, default: %s } } } }`, never, ""},
	"accepted":                {`accepted: { event-added a: %s }`, empty, ""},
	"doc of a struct":         {`types: { T: { doc: %s, fields: {} } }`, never, "S#"},
	"deprecated of an enum":   {`types: { T: { deprecated: %s, enum: [x] } }`, empty, "N#"},
	"value":                   {`types: { T: { enum: { %s: { go_name: Odd } } } }`, unseen, ""},
	"doc of a value":          {`types: { T: { enum: { x: { doc: %s } } } }`, never, "N#Even"},
	"deprecated of a value":   {`types: { T: { enum: { x: { deprecated: %s } } } }`, empty, "N#Even"},
	"doc of a union":          {`types: { T: { doc: %s, one_of: { x: { fields: {} } } } }`, never, "U#"},
	"doc of a variant":        {`types: { T: { one_of: { x: { doc: %s, fields: {} } } } }`, never, "U#X"},
	"deprecated of a variant": {`types: { T: { one_of: { x: { deprecated: %s, fields: {} } } } }`, empty, "U#X"},
}

// patternOf is a pattern that takes text and nothing else.
func patternOf(text string) string { return "^(?:" + regexp.QuoteMeta(text) + ")$" }

// aloneIn is a catalogue with a text in one place.
func aloneIn(where, text string) string {
	s := spots[where]
	if where == "pattern" {
		text = patternOf(text)
	}
	c := "version: 1\npackage: hostile\n" + strings.Replace(s.alone, "%s", yamlOf(text), 1) + "\n"
	if !strings.HasPrefix(s.alone, "events") {
		c += "events: { a: {} }\n"
	}
	return c
}

// everywhere has a text in all places that take it. What is in [ ] is left out where it is refused.
func everywhere(n int, text string) (types, event string) {
	with := func(where, form string) string {
		if spots[where].refuses(text) {
			return ""
		}
		return strings.ReplaceAll(form, "%s", yamlOf(text)) + ", "
	}
	types = strings.Join([]string{
		"S#: { " + with("doc of a struct", "doc: %s") + "fields: { " + with("was", `w_w: { type: "string?", was: %s }`) + "} }",
		"N#: { " + with("deprecated of an enum", "deprecated: %s") + "enum: { " +
			with("value", "%s: { go_name: Odd }") + "even: { " + with("doc of a value", "doc: %s") + with("deprecated of a value", "deprecated: %s") + "go_name: Even } } }",
		"U#: { " + with("doc of a union", "doc: %s") + with("discriminator", "discriminator: %s") + "one_of: { x: { " + with("doc of a variant", "doc: %s") + with("deprecated of a variant", "deprecated: %s") + "fields: {} } } }",
	}, "\n  ")
	event = "e#.happened: { " + with("wire", "wire: %s") + with("doc of an event", "doc: %s") + with("deprecated of an event", "deprecated: %s") + with("owner of an event", "owner: %s") +
		with("doc of a subscription", "subscriptions: { s#: { doc: %s } }") + "version: 2, " + with("doc of an old version", "history: { 1: { doc: %s } }") +
		"payload: { f: { type: int, " + with("doc of a field", "doc: %s") + with("deprecated of a field", "deprecated: %s") + "go_name: F }, " +
		with("json", `q_q: { type: "string?", json: %s }`) + with("default", `d: { type: "string?", default: %s }`) + with("default of all", `r: { type: string, default: %s }`) + `p: { type: string, pattern: ` + yamlOf(patternOf(text)) + ` }, x: string, m: "map[string]string", j: json }, ` +
		with("example", "examples: [{ f: 1, r: x, p: %s, x: %s, m: { %s: %s }, j: [%s] }]") + "}"
	number := strconv.Itoa(n)
	return strings.ReplaceAll(types, "#:", number+":"), strings.Replace(strings.Replace(event, "e#.", "e"+number+".", 1), "s#:", "s"+number+":", 1)
}

// values is a catalogue in which all texts are values: of an enum, of defaults, patterns and examples. The
// calls compare what generated code makes of them.
func values() (source string, calls []string) {
	var enum, payload, example []string
	call := func(n int, text, format string) {
		calls = append(calls, strings.NewReplacer("#", strconv.Itoa(n), "%s", strconv.QuoteToASCII(text)).Replace(format))
	}
	for n, text := range hostileTexts {
		payload = append(payload, fmt.Sprintf(`d%d: { type: "string?", default: %s }, p%d: { type: string, pattern: %s }, r%d: { type: string, default: %s }`, n, yamlOf(text), n, yamlOf(patternOf(text)), n, yamlOf(text)))
		example = append(example, fmt.Sprintf(`p%d: %s, r%d: x`, n, yamlOf(text), n))
		call(n, text, `same("default", hostile.TextSent{}.D#OrDefault(), %s)`)
		call(n, text, `same("default of an old event", old.R#, %s)`)
		call(n, text, `same("example", sample.P#, %s); same("example", sample.Map[%s], %s)`)
		call(n, text, `valid(sample, true); { wrong := sample; wrong.P# += "x"; valid(wrong, false) }`)
		if !unseen(text) {
			enum = append(enum, fmt.Sprintf(`%s: { go_name: Odd%d }`, yamlOf(text), n))
			call(n, text, `value(hostile.TOdd#, %s)`)
		}
	}
	var keys []string
	for _, text := range hostileTexts {
		keys = append(keys, yamlOf(text)+": "+yamlOf(text))
	}
	return catalogueOf([]string{"T: { enum: { " + strings.Join(enum, ", ") + " } }"}, []string{
		`text.sent: { payload: { t: T, map: "map[string]string", ` + strings.Join(payload, ", ") + ` }, examples: [{ t: Plain., ` +
			strings.Join(example, ", ") + ", map: { " + strings.Join(keys, ", ") + " } }] }",
	}), calls
}

func catalogueOf(types, events []string) string {
	var b strings.Builder
	b.WriteString("version: 1\npackage: hostile\n")
	if types != nil {
		b.WriteString("types:\n  " + strings.Join(types, "\n  ") + "\n")
	}
	b.WriteString("events:\n  " + strings.Join(events, "\n  ") + "\n")
	return b.String()
}

// Each text in each place is refused, if it is of those that the place refuses, and nothing else.
func TestTextsAreRefusedWhereTheyCannotBe(t *testing.T) {
	for where, s := range spots {
		for _, text := range hostileTexts {
			_, findings := parse.Text("events.yaml", []byte(aloneIn(where, text)))
			if (findings != nil) != s.refuses(text) {
				t.Errorf("%s %q: refused should be %t: %v", where, text, s.refuses(text), findings)
			}
		}
	}
}

// Where a catalogue has names, words or paths, only texts of plain letters, digits and a few marks get through;
// packages can be any identifier of Go.
func TestTextsAreNoNames(t *testing.T) {
	plain := regexp.MustCompile(`^[A-Za-z0-9_.~+/-]+$`)
	taken := 0
	for where, form := range map[string]string{
		"package":            `package: %s, events: { a: {} }`,
		"initialism":         `package: p, initialisms: [%s], events: { a: {} }`,
		"event":              `package: p, events: { %s: {} }`,
		"go_name":            `package: p, events: { a: { go_name: %s } }`,
		"tag":                `package: p, events: { a: { tags: [%s] } }`,
		"subscription":       `package: p, events: { a: { subscriptions: { %s: {} } } }`,
		"former name":        `package: p, events: { a: { subscriptions: { s: { aliases: [%s] } } } }`,
		"field":              `package: p, events: { a: { payload: { %s: int } } }`,
		"go_name of one":     `package: p, events: { a: { payload: { f: { type: int, go_name: %s } } } }`,
		"accepted":           `package: p, accepted: { %s: x }, events: { a: {} }`,
		"type of one":        `package: p, events: { a: { payload: { f: %s } } }`,
		"partition_by":       `package: p, events: { a: { partition_by: %s, payload: { f: int } } }`,
		"dedupe_by":          `package: p, events: { a: { dedupe_by: %s, payload: { f: int } } }`,
		"await_by":           `package: p, events: { a: { await_by: %s, payload: { f: int } } }`,
		"error class":        `package: p, events: { a: { errors: { %s: permanent } } }`,
		"timeout":            `package: p, events: { a: { timeout: %s } }`,
		"limit":              `package: p, limits: { %s: { at_once: 1 } }, events: { a: {} }`,
		"rate":               `package: p, limits: { l: { rate: %s } }, events: { a: {} }`,
		"go_name of a limit": `package: p, limits: { l: { at_once: 1, go_name: %s } }, events: { a: {} }`,
		"limit of an event":  `package: p, limits: { l: { at_once: 1 } }, events: { a: { limits: [%s] } }`,
		"field of a limit":   `package: p, limits: { l: { at_once: 1 } }, events: { a: { limits: [{ limit: l, by: %s }], payload: { f: int } } }`,
		"type":               `package: p, types: { %s: { fields: {} } }, events: { a: {} }`,
		"variant":            `package: p, types: { T: { one_of: { %s: { fields: {} } } } }, events: { a: {} }`,
		"json_names":         `package: p, json_names: %s, events: { a: {} }`,
		"import path":        `package: p, types: { T: { go: { import: %s, type: X }, type: string } }, events: { a: {} }`,
		"custom type":        `package: p, types: { T: { go: { import: x.org/y, type: %s }, type: string } }, events: { a: {} }`,
		"own import path":    `package: p, import_path: %s, events: { a: {} }`,
	} {
		for _, text := range hostileTexts {
			_, findings := parse.Text("events.yaml", []byte("{ version: 1, "+strings.ReplaceAll(form, "%s", yamlOf(text))+" }"))
			if findings == nil {
				taken++
				if !plain.MatchString(text) && !(where == "package" && token.IsIdentifier(text)) {
					t.Errorf("%s %q is taken", where, text)
				}
			}
		}
	}
	if taken == 0 {
		t.Error("nothing is taken")
	}
}

// What is not refused makes one package, which compiles, and whose comments say the text.
func TestTextsStayTextsInComments(t *testing.T) {
	short.Visit(t, "it compiles programs")
	var types, events []string
	for n, text := range hostileTexts {
		typ, event := everywhere(n, text)
		types, events = append(types, typ), append(events, event)
	}
	module := newModule(t)
	comments := map[string]string{}
	for _, file := range addHostile(t, module, catalogueOf(types, events)) {
		for name, text := range commentsOf(t, file.Name, file.Content) {
			comments[name] += "\n" + text
		}
	}
	for where, s := range spots {
		for n, text := range hostileTexts {
			if s.in != "" && !s.refuses(text) {
				expected{strings.ReplaceAll(s.in, "#", strconv.Itoa(n)), text, where}.in(t, comments)
			}
		}
	}
	module.run("vet", "./...")
}

// Values are the texts that they are in the catalogue, at run time too.
func TestTextsKeepTheirValueInCode(t *testing.T) {
	short.Visit(t, "it compiles programs")
	source, calls := values()
	module := newModule(t)
	addHostile(t, module, "test_kit: true\n"+source)
	module.add("main.go", meaningProgram(calls))
	module.run("vet", "./...")
	if got, want := module.run("run", "."), fmt.Sprintf("%d checks\n", len(calls)); got != want {
		t.Errorf("the program says\n%swant\n%s", got, want)
	}
}

// addHostile adds a package to the module.
func addHostile(t *testing.T, m module, source string) []output.File {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte(source))
	if findings != nil {
		t.Fatal(findings)
	}
	files, err := templates.Files(c, templates.Target{ImportPath: "example.com/cases/hostile"})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		m.add("hostile/"+file.Name, string(file.Content))
	}
	m.add("hostile/upcasts.go", upcasts(t, c.In(nil, "")))
	return files
}

func meaningProgram(checks []string) string {
	return `package main

import (
	"encoding/json"
	"fmt"

	"example.com/cases/hostile"
	"example.com/cases/hostile/hostiletest"
	"github.com/busgen/busgen/runtime"
)

var checked int

func same(where, got, want string) {
	if got != want {
		fmt.Printf("%s: %q, want %q\n", where, got, want)
	}
}

func value(got hostile.T, want string) {
	same("value", string(got), want)
	same("value", got.String(), want)
	text, err := json.Marshal(got)
	var back hostile.T
	if err := json.Unmarshal(text, &back); err != nil || string(back) != want || !back.Valid() {
		fmt.Printf("%q comes back as %q: %v\n", want, back, err)
	}
	if err != nil {
		fmt.Println(want, err)
	}
}

func valid(payload runtime.Payload, want bool) {
	if err := payload.Validate(); (err == nil) != want {
		fmt.Printf("%#v: %v\n", payload, err)
	}
}

func main() {
	sample := hostiletest.SampleTextSent()
	var old hostile.TextSent
	if err := json.Unmarshal([]byte("{}"), &old); err != nil {
		fmt.Println(err)
	}
	checked++; ` + strings.Join(checks, "\n\tchecked++; ") + `
	fmt.Println(checked, "checks")
}
`
}

// expected is a text that must be in the comment of something.
type expected struct{ of, text, where string }

// in compares word by word: lines are filled anew.
func (e expected) in(t *testing.T, comments map[string]string) {
	t.Helper()
	comment, ok := comments[e.of]
	if !ok {
		t.Errorf("%s %q: there is no %s", e.where, e.text, e.of)
		return
	}
	got := " " + strings.Join(strings.Fields(strings.ReplaceAll(comment, `"+build"`, "+build")), " ") + " "
	got = strings.NewReplacer("“", "``", "”", "''").Replace(got) // gofmt writes the quotes of Go's doc comments as what they stand for
	want := " " + strings.Join(strings.Fields(visible(e.text)), " ") + " "
	inSentence := strings.TrimSuffix(want, " ") // Owner: … goes on with a full stop
	if !strings.Contains(got, want) && !(strings.HasPrefix(e.where, "owner") && strings.Contains(got, inSentence)) {
		t.Errorf("%s: %q is not in the comment of %s:\n%s", e.where, e.text, e.of, comment)
	}
}

// visible is text as a comment shows it.
func visible(text string) string {
	var b strings.Builder
	for _, r := range strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSpace(text)) {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' || r == '\u200d' {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// commentsOf returns the comments of what a file declares. Whatever is a directive in one is none of it, but for the one
// of the method Valid of enums.
func commentsOf(t *testing.T, name string, content []byte) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	own := map[*ast.Comment]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Valid" {
			last := f.Doc.List[len(f.Doc.List)-1]
			own[last] = last.Text == "//go:noinline"
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if !own[c] && !strings.HasPrefix(c.Text, "// ") && c.Text != "//" && !strings.HasPrefix(c.Text, "//\t") {
				t.Errorf("%s has the comment %q", name, c.Text)
			}
		}
	}
	comments := map[string]string{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				comments[d.Name.Name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				ofSpec(comments, d, s)
			}
		}
	}
	return comments
}

func ofSpec(comments map[string]string, d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		comments[s.Name.Name] = d.Doc.Text() + s.Doc.Text()
		if fields, ok := s.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					comments[s.Name.Name+"."+name.Name] = f.Doc.Text()
				}
			}
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			comments[name.Name] = d.Doc.Text() + s.Doc.Text() + s.Comment.Text()
		}
	}
}

// Names that Go, or generated code, uses itself are refused for that reason, or they compile.
func TestNamesAreRefusedOrCompile(t *testing.T) {
	short.Visit(t, "it compiles programs")
	forms := map[string]struct{ types, event string }{ // with # for a number and @ for the name
		"event":          {"", `"@": {}`},
		"inner event":    {"", `x#.@.done: {}`},
		"field":          {"", `f#.happened: { payload: { "@": { type: "[]string?", min_items: 1 } } }`},
		"optional field": {"", `o#.happened: { payload: { "@": { type: "int?", default: 1, min: 0 } } }`},
		"struct field":   {"", `i#.happened: { payload: { "@": { fields: { "@": "map[string]time" } } } }`},
		"variant":        {`V#: { one_of: { "@": { fields: { x: int } } } }`, ""},
		"discriminator":  {`D#: { discriminator: "@", one_of: { a: { fields: { x: int } }, b: { fields: {} } } }`, ""},
		"value":          {`E#: { enum: ["@"] }`, ""},
		"subscription":   {"", `s#.happened: { subscriptions: { w#-@: {} } }`},
		"error class":    {"", `c#.happened: { errors: { c#_@: permanent } }`},
	}
	var types, events []string
	n := 0
	for _, what := range slices.Sorted(maps.Keys(forms)) {
		for _, name := range hostileNames() {
			n++
			fill := strings.NewReplacer("#", strconv.Itoa(n), "@", name)
			ofType, ofEvents := []string{fill.Replace(forms[what].types)}, []string{"always.there: {}"}
			if ofType[0] == "" {
				ofType, ofEvents = nil, []string{fill.Replace(forms[what].event)}
			}
			if what == "event" {
				ofEvents = append(events[:len(events):len(events)], ofEvents...) // names of events can be too close to one another
			}
			_, findings := parse.Text("events.yaml", []byte(catalogueOf(ofType, ofEvents)))
			for _, f := range findings {
				if f.Rule != rules.Reserved && f.Rule != rules.Collision {
					t.Errorf("%s %s: %v", what, name, f)
				}
			}
			switch {
			case findings != nil:
			case ofType != nil:
				types = append(types, ofType...)
			default:
				events = append(events, ofEvents[len(ofEvents)-1])
			}
		}
	}
	if len(types)+len(events) < n*9/10 {
		t.Errorf("only %d of %d names are taken", len(types)+len(events), n)
	}
	module := newModule(t)
	addHostile(t, module, catalogueOf(types, events))
	module.run("vet", "./...")
}

func TestAHundredLevelsOfTypesCompile(t *testing.T) {
	short.Visit(t, "it compiles programs")
	var types []string
	for i := range 100 {
		types = append(types, fmt.Sprintf(`T%d: { fields: { one: T%[2]d, maybe: "T%[2]d?", all: "[]T%[2]d?", by: "map[string]T%[2]d?", u: U%[1]d } }`, i, i+1))
		types = append(types, fmt.Sprintf(`U%d: { one_of: { t: T%d, e: { fields: {} } } }`, i, i+1))
	}
	types = append(types, "T100: { fields: { x: int, back: \"T0?\" } }")
	module := newModule(t)
	addHostile(t, module, catalogueOf(types, []string{"deep.sent: { payload: { t: T90 } }"}))
	module.run("vet", "./...")
}

func TestTenThousandEventsAreGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	var events []string
	for i := range 10_000 {
		events = append(events, fmt.Sprintf("e%d.happened: {}", i))
	}
	c, findings := parse.Text("events.yaml", []byte(catalogueOf(nil, events)))
	if findings != nil {
		t.Fatal(findings)
	}
	files, err := templates.Files(c, templates.Target{ImportPath: "example.com/cases/hostile"})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if got := strings.Count(string(file.Content), "\nfunc PublishE"); file.Name == "publish.gen.go" && got != 10_000 {
			t.Errorf("%d functions publish 10,000 events", got)
		}
	}
}
