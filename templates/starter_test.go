package templates

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/output"
)

func starter(t *testing.T, packageName string) map[string]output.File {
	t.Helper()
	files := map[string]output.File{}
	for _, file := range Starter(packageName) {
		files[file.Name] = file
	}
	return files
}

func TestTheStarterCatalogueHasNoFindings(t *testing.T) {
	for _, name := range []string{"events", "shop"} {
		c := parseFile(t, "events.yaml", starter(t, name)["events.yaml"].Content)
		if c.Package.V != name {
			t.Errorf("package %s, want %s", c.Package.V, name)
		}
		generate(t, c)
	}
}

func TestTheStarterShowsTheDefaults(t *testing.T) {
	shown := parseFile(t, "events.yaml", starter(t, "events")["events.yaml"].Content).Events[0]
	builtIn := parsed(t, "events: { ping: {} }").Events[0]
	if shown.Name.V != "order.placed" {
		t.Fatalf("the first event is %s, want one that sets nothing itself", shown.Name.V)
	}
	builtInList := builtIn.Settings.List()
	for i, setting := range shown.Settings.List() {
		if want := builtInList[i]; setting.Key != want.Key || setting.Value != want.Value {
			t.Errorf("the starter shows %s %v, built in is %s %v", setting.Key, setting.Value, want.Key, want.Value)
		}
		if !setting.Pos.IsKnown() && setting.Key != "priority" {
			t.Errorf("the starter does not show %s", setting.Key)
		}
	}
}

func TestTheStarterShowsErrorClassesButHasNone(t *testing.T) {
	text := string(starter(t, "events")["events.yaml"].Content)
	if c := parseFile(t, "events.yaml", []byte(text)); c.ErrorClasses != nil {
		t.Errorf("it has %d error classes", len(c.ErrorClasses))
	}
	text = strings.Replace(text, "    # errors:", "    errors:", 1)
	if c := parseFile(t, "events.yaml", []byte(text)); len(c.ErrorClasses) != 2 {
		t.Errorf("without the comment sign it has %d error classes", len(c.ErrorClasses))
	}
}

// A declared name that nobody handles would keep the events of someone who is
// just trying things out.
func TestTheStarterShowsSubscriptionsButDeclaresNone(t *testing.T) {
	text := string(starter(t, "events")["events.yaml"].Content)
	if c := parseFile(t, "events.yaml", []byte(text)); c.Events[0].Subscriptions != nil {
		t.Errorf("it declares %d subscriptions", len(c.Events[0].Subscriptions))
	}
	text = strings.NewReplacer("    # subscriptions:", "    subscriptions:", "    #   ", "      ").Replace(text)
	subscriptions := parseFile(t, "events.yaml", []byte(text)).Events[0].Subscriptions
	if len(subscriptions) != 2 || !strings.Contains(text, subscriptions[0].GoName+".") {
		t.Errorf("without the comment signs it declares %+v", subscriptions)
	}
}

func TestTheStarterUsesEveryTypeOfFieldOrNamesIt(t *testing.T) {
	text := string(starter(t, "events")["events.yaml"].Content)
	for _, word := range []string{
		"string", "bool", "int", "int32", "int64", "uint64", "float64", "bytes", "time", "date", "duration", "uuid", "json", "[]T", "map[string]T",
	} {
		if _, findings := parse.Text("x.yaml", []byte("version: 1\npackage: p\nevents: { e: { payload: { f: \""+strings.Replace(word, "T", "string", 1)+"\" } } }\n")); findings != nil {
			t.Errorf("%s is not a type any more: %v", word, findings)
		}
		if !strings.Contains(text, word) {
			t.Errorf("the starter does not mention %s", word)
		}
	}
}

func TestTheStarterGoFileRunsBusgen(t *testing.T) {
	content := starter(t, "shop")["generate.go"].Content
	file, err := parser.ParseFile(token.NewFileSet(), "generate.go", content, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if file.Name.Name != "shop" || !strings.HasPrefix(file.Doc.Text(), "Package shop ") {
		t.Errorf("package %s with the doc %q", file.Name.Name, file.Doc.Text())
	}
	const directive = "//go:generate go tool busgen generate events.yaml"
	found := false
	for _, group := range file.Comments {
		for _, c := range group.List {
			found = found || c.Text == directive
		}
	}
	if !found {
		t.Errorf("no %s in\n%s", directive, content)
	}
}
