package parse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// folder writes files into a new folder, and enters it.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// wantsFinding loads ./events.yaml, which has a finding with these words.
func wantsFinding(t *testing.T, words ...string) {
	t.Helper()
	c, findings, err := parse.Load("events.yaml")
	if err != nil || c != nil {
		t.Fatalf("got %v, %v", c, err)
	}
	for _, f := range findings {
		matches := true
		for _, word := range words {
			matches = matches && strings.Contains(f.String(), word)
		}
		if matches {
			return
		}
	}
	t.Errorf("no finding has %q:\n%v", words, findings)
}

const includes = "version: 1\npackage: p\nevents: { a.done: {} }\ninclude: "

func TestFilesAreNamedFromTheFolderOfTheFileThatIncludesThem(t *testing.T) {
	folder(t, map[string]string{
		"here/events.yaml":   includes + "[deep/a.yaml, ../there/b.yaml, \"deep/x*.yaml\"]",
		"here/deep/a.yaml":   "version: 1\ninclude: [../c.yaml]\n",
		"here/c.yaml":        "version: 1\nevents: { c.done: {} }\n",
		"there/b.yaml":       "version: 1\nevents: { b.done: {} }\n",
		"here/deep/x2.yaml":  "version: 1\nevents: { x2.done: {} }\n",
		"here/deep/x1.yaml":  "version: 1\nevents: { x1.done: {} }\n",
		"here/deep/.x3.yaml": "nonsense",
	})
	c, findings, err := parse.Load("here/events.yaml")
	if err != nil || findings != nil {
		t.Fatal(findings, err)
	}
	want := []string{"here/events.yaml", "here/deep/a.yaml", "here/c.yaml", "there/b.yaml", "here/deep/x1.yaml", "here/deep/x2.yaml"}
	if diff := cmp.Diff(want, c.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var places []string
	for _, e := range c.Events {
		places = append(places, e.Name.V+" "+e.Name.Pos.String())
	}
	wantPlaces := []string{
		"a.done here/events.yaml:3:11", "c.done here/c.yaml:2:11", "b.done there/b.yaml:2:11",
		"x1.done here/deep/x1.yaml:2:11", "x2.done here/deep/x2.yaml:2:11",
	}
	if diff := cmp.Diff(wantPlaces, places); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestSymbolicLinksAreFollowed(t *testing.T) {
	folder(t, map[string]string{"events.yaml": includes + "[link/b.yaml, c.yaml]", "real/b.yaml": "version: 1\nevents: { b.done: {} }\n"})
	for link, target := range map[string]string{"link": "real", "c.yaml": "c.yaml"} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
	}
	wantsFinding(t, "events.yaml:4:24", "c.yaml cannot be read")
	os.Remove("c.yaml")
	os.WriteFile("c.yaml", []byte("version: 1\n"), 0o666)
	if _, findings, err := parse.Load("events.yaml"); err != nil || findings != nil {
		t.Error(findings, err)
	}
}

// A folder that contains itself, by a link, has files without end.
func TestAFileThatIncludesItselfByALinkEndsAtTheLimit(t *testing.T) {
	folder(t, map[string]string{"events.yaml": includes + "[self/b.yaml]", "b.yaml": "version: 1\ninclude: [self/b.yaml]\n"})
	if err := os.Symlink(".", "self"); err != nil {
		t.Skip(err)
	}
	wantsFinding(t, "[include]") // of the limit, or of a path that the system finds too long
}

func TestIncludedFilesHaveLimits(t *testing.T) {
	short.Visit(t, "it reads large catalogues")
	files := parse.Memory{Text: map[string][]byte{}}
	for i := range 1002 {
		files.Text[fmt.Sprintf("deep%d.yaml", i)] = fmt.Appendf(nil, "version: 1\ninclude: [deep%d.yaml]\n", i+1)
		files.Text[fmt.Sprintf("wide%d.yaml", i)] = []byte("version: 1\n")
	}
	big := []byte("version: 1\n# " + strings.Repeat("x", 40<<20))
	files.Text["big1.yaml"], files.Text["big2.yaml"] = big, big
	for _, include := range []string{"[deep0.yaml]", "[\"wide*.yaml\"]", "[big1.yaml, big2.yaml]"} {
		_, findings := parse.TextWith(files, "events.yaml", []byte(includes+include))
		if len(findings) != 1 || !strings.Contains(findings[0].Message, "is made of more than 1000 files, or more than 64 MiB") {
			t.Errorf("%s: got %.300v", include, findings)
		}
	}
	delete(files.Text, "wide1000.yaml")
	delete(files.Text, "wide1001.yaml")
	if _, findings := parse.TextWith(files, "events.yaml", []byte(includes+"[\"wide*.yaml\"]")); findings != nil {
		t.Errorf("1000 files: %.300v", findings)
	}
}

func TestAnUnreadableFileIsAFindingWhereItIsNamed(t *testing.T) {
	folder(t, map[string]string{"events.yaml": includes + "[a.yaml]", "a.yaml": ""})
	if err := os.Truncate("a.yaml", 1<<40); err != nil {
		t.Skip(err)
	}
	wantsFinding(t, "events.yaml:4:11", "a.yaml cannot be read: it has 1048576.0 MiB, and may have 16 MiB")
	os.Remove("a.yaml")
	os.Mkdir("a.yaml", 0o777)
	wantsFinding(t, "events.yaml:4:11", "a.yaml cannot be read: it is a folder")
	os.Remove("a.yaml")
	if err := os.Symlink(os.DevNull, "a.yaml"); err == nil {
		wantsFinding(t, "events.yaml:4:11", "a.yaml cannot be read: it is a device, not a regular file")
	}
}

func TestParseIncludesNothing(t *testing.T) {
	folder(t, map[string]string{"a.yaml": "version: 1\n"})
	_, findings := parse.Text("events.yaml", []byte(includes+"[a.yaml]"))
	if len(findings) != 1 || findings[0].Rule != rules.Include {
		t.Errorf("got %v", findings)
	}
}

// imports are the texts of a catalogue and of another that it imports.
func importing(root, shared string) (*catalog.Catalogue, diag.Findings) {
	files := parse.Memory{Text: map[string][]byte{"shared/events.yaml": []byte(shared)}}
	return parse.TextWith(files, "events.yaml", []byte("version: 1\npackage: p\nimports: { shared: shared/events.yaml }\n"+root))
}

const sharedTypes = `version: 1
package: shared
import_path: example.org/shared
types:
  Money: { fields: { parts: "map[string]Part?" } }
  Part: { fields: { amount: int64, inside: { fields: { x: Other } } } }
  Other: { enum: [a] }
  Unused: { enum: [a] }
events: { shared.done: {} }
`

func TestTypesOfAnotherCatalogueCarryItsName(t *testing.T) {
	c, findings := importing("events: { a.done: { payload: { money: \"[]shared.Money\" } } }\n", sharedTypes)
	if findings != nil {
		t.Fatal(findings)
	}
	var got []string
	for _, imported := range c.Imported {
		got = append(got, imported.Name.V+" is "+imported.GoName+" of "+imported.Package.Path)
		for _, f := range imported.Fields {
			got = append(got, "  "+f.Name.V+" "+f.Type.Text)
		}
	}
	want := []string{
		"shared.Money is Money of example.org/shared", "  parts map[string]shared.Part?",
		"shared.Other is Other of example.org/shared",
		"shared.Part is Part of example.org/shared", "  amount int64", "  inside {}",
		"shared.PartInside is PartInside of example.org/shared", "  x shared.Other",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(c.Types) != 0 || len(c.Events) != 1 || len(c.Files) != 1 {
		t.Errorf("%d types, %d events, %d files are its own", len(c.Types), len(c.Events), len(c.Files))
	}
}

// What another catalogue says of its payloads is part of what generated code was made of.
func TestAChangeOfAnImportedTypeChangesTheShape(t *testing.T) {
	root := "events: { a.done: { payload: { money: shared.Money } } }\n"
	c, _ := importing(root, sharedTypes)
	other, _ := importing(root, strings.Replace(sharedTypes, "enum: [a]", "enum: [a, b]", 1))
	if c.Events[0].Shape() == other.Events[0].Shape() {
		t.Error("the shape is the same")
	}
}

// The finding that two packages have one path shows both, and one of them is not there. This crashed.
func TestACatalogueWithoutAPackageHasNoPathInCommonWithAnImport(t *testing.T) {
	files := parse.Memory{Text: map[string][]byte{"shared.yaml": []byte(sharedTypes)}}
	root := "version: 1\nimport_path: example.org/shared\nimports: { shared: shared.yaml }\nevents: { a.done: {} }\n"
	_, findings := parse.TextWith(files, "events.yaml", []byte(root))
	if len(findings) != 1 || findings[0].Rule != rules.MissingKey {
		t.Errorf("got %v", findings)
	}
}

func TestAnyPathIsReadOrRefused(t *testing.T) {
	files := parse.Memory{Text: map[string][]byte{"a.yaml": []byte("version: 1\n"), "b/a.yaml": []byte("version: 1\n"), "../a": []byte("x")}}
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringOfN(rapid.RuneFrom([]rune(`*?[]./\\abyml-~^é"{`)), 0, 12, -1).Draw(t, "path")
		source := includes + "[" + strconv.Quote(path) + "]\nimports: { other: " + strconv.Quote(path) + " }\n"
		c, findings := parse.TextWith(files, "events.yaml", []byte(source))
		if (c == nil) != (len(findings) > 0) {
			t.Fatalf("got catalogue %v with %d findings", c, len(findings))
		}
	})
}
