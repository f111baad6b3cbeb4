package runtime_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
)

var updateAliases = flag.Bool("update.aliases", false, "write the fields into the comments of aliases")

// Some exported types are aliases of types in internal packages, and go doc prints only
// the alias. So the comment of each alias ends with the declaration that it stands for.
func TestTheCommentOfAnAliasShowsTheFieldsOfItsType(t *testing.T) {
	for _, folder := range []string{".", "inspect"} {
		for name, file := range sourcesIn(t, folder) {
			if fixed := file.withDeclarations(t); fixed == file.text {
				continue
			} else if !*updateAliases {
				t.Errorf("%s: the comment of an alias does not show its type; run go test ./runtime -run CommentOfAnAlias -update.aliases", name)
			} else if err := os.WriteFile(name, []byte(fixed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// go doc prints of an event that it has a head, and not the fields of that.
func TestTheCommentOfAnEventNamesTheFieldsOfItsHead(t *testing.T) {
	file := sourcesIn(t, ".")["event.go"]
	_, comment, _ := strings.Cut(file.text, "\n// Event is ")
	comment, _, _ = strings.Cut(comment, "\ntype Event[T any] struct")
	for field := range reflect.TypeFor[runtime.Head]().Fields() {
		if field.IsExported() && !regexp.MustCompile(`\b`+field.Name+`\b`).MatchString(comment) {
			t.Errorf("the comment of Event does not name %s", field.Name)
		}
	}
}

// source is a file of Go.
type source struct {
	text string
	set  *token.FileSet
	tree *ast.File
}

// sourcesIn returns the files of a package without its tests, by their paths.
func sourcesIn(t *testing.T, folder string) map[string]source {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no Go files in %s: %v", folder, err)
	}
	files := map[string]source{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = source{string(text), set, tree}
	}
	return files
}

// slice returns the text from one position up to another.
func (s source) slice(from, to token.Pos) string {
	return s.text[s.set.Position(from).Offset:s.set.Position(to).Offset]
}

// withDeclarations returns the text of the file in which the comments of aliases of
// internal types end with the declarations of these.
func (s source) withDeclarations(t *testing.T) string {
	t.Helper()
	text := s.text
	for _, decl := range slices.Backward(s.tree.Decls) {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE || len(group.Specs) != 1 {
			continue
		}
		spec := group.Specs[0].(*ast.TypeSpec)
		target, ok := spec.Type.(*ast.SelectorExpr)
		if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
			continue
		}
		folder := s.internalFolder(t, target.X.(*ast.Ident).Name)
		if folder == "" {
			continue
		}
		comment := s.slice(group.Doc.Pos(), group.Pos())
		prose, _, _ := strings.Cut(comment, "//\n//\ttype "+spec.Name.Name+" ")
		comment = strings.TrimRight(prose, "\n") + "\n//\n"
		for line := range strings.Lines(declaration(t, folder, target.Sel.Name)) {
			comment += strings.TrimRight("//\t"+line, "\t\n") + "\n"
		}
		text = text[:s.set.Position(group.Doc.Pos()).Offset] + comment + text[s.set.Position(group.Pos()).Offset:]
	}
	return text
}

// internalFolder returns the folder of an imported package, by its name in the file, or
// "" if it is not internal.
func (s source) internalFolder(t *testing.T, name string) string {
	t.Helper()
	for _, one := range s.tree.Imports {
		path, err := strconv.Unquote(one.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if folder, ok := strings.CutPrefix(path, "github.com/busgen/busgen/runtime/internal/"); ok && filepath.Base(path) == name {
			return filepath.Join("internal", folder)
		}
	}
	return ""
}

var (
	tags  = regexp.MustCompile("[ \t]*`json:[^`]*`")
	links = regexp.MustCompile(`(//.*)\[([A-Z]\w*)\]`)
	// Methods that every error and every type with JSON has, and those for engines only.
	omitted = []string{"Error", "Unwrap", "Is", "MarshalJSON", "UnmarshalJSON", "Complete", "Place"}
)

// declaration returns the declaration of a type, without its tags, and the first lines
// of its methods, without those that are omitted.
func declaration(t *testing.T, folder, name string) string {
	t.Helper()
	var found string
	var methods []string
	for _, file := range sourcesIn(t, folder) {
		for _, decl := range file.tree.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, one := range d.Specs {
					if spec, ok := one.(*ast.TypeSpec); ok && spec.Name.Name == name {
						found = "type " + file.slice(spec.Pos(), spec.End())
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil || !d.Name.IsExported() || slices.Contains(omitted, d.Name.Name) {
					continue
				}
				receiver := d.Recv.List[0].Type
				if pointer, ok := receiver.(*ast.StarExpr); ok {
					receiver = pointer.X
				}
				if of, ok := receiver.(*ast.Ident); ok && of.Name == name {
					methods = append(methods, strings.TrimSpace(file.slice(d.Pos(), d.Body.Pos())))
				}
			}
		}
	}
	if found == "" {
		t.Fatalf("%s has no type %s", folder, name)
	}
	found = links.ReplaceAllString(tags.ReplaceAllString(found, ""), "$1$2")
	for _, method := range slices.Sorted(slices.Values(methods)) {
		found += "\n" + method
	}
	formatted, err := format.Source([]byte(found))
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", found, err))
	}
	return string(formatted)
}
