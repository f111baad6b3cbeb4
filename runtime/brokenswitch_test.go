package runtime_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// switched is the code with many rules broken, each only while a variable of the environment has
// its number: each function with such a rule has a copy with the recorded change, which it calls
// then. So one build serves all tests of a folder. What is changed outside of functions cannot be
// switched, and is built apart.
type switched struct {
	root    string // of the module
	overlay string // for the compiler
	rules   map[int]brokenRule
	files   map[string]*switchedFile // by path below root
}

// switchedFile is one file with copies of functions.
type switchedFile struct {
	source []byte
	set    *token.FileSet
	file   *ast.File
	copies map[int]*ast.FuncDecl // what rules change, by their number
}

// brokenEnv says which rule is broken.
const brokenEnv = "BUSGEN_BROKEN_RULE"

// newSwitched finds the rules that can be switched.
func newSwitched(t *testing.T, root string, rules []brokenRule) *switched {
	s := &switched{root: root, overlay: t.TempDir(), rules: map[int]brokenRule{}, files: map[string]*switchedFile{}}
	for number, rule := range rules {
		if !strings.HasSuffix(rule.file, ".go") {
			continue
		}
		f := s.files[rule.file]
		if f == nil {
			f = &switchedFile{set: token.NewFileSet(), copies: map[int]*ast.FuncDecl{}}
			var err error
			f.source, err = os.ReadFile(filepath.Join(root, rule.file))
			conformance.Must(t, err)
			f.file, err = parser.ParseFile(f.set, rule.file, f.source, parser.SkipObjectResolution)
			conformance.Must(t, err)
			s.files[rule.file] = f
		}
		from := bytes.Index(f.source, []byte(rule.old))
		for _, d := range f.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Name.Name == "init" {
				continue
			}
			if f.at(fn.Body.Lbrace) < from && from+len(rule.old) <= f.at(fn.Body.Rbrace) {
				f.copies[number], s.rules[number] = fn, rule
			}
		}
	}
	return s
}

// at is the offset of a position.
func (f *switchedFile) at(pos token.Pos) int { return f.set.Position(pos).Offset }

// text is what stands between two positions.
func (f *switchedFile) text(from, to token.Pos) string { return string(f.source[f.at(from):f.at(to)]) }

// named returns a list of parameters with a name for each, and the names as they are passed on.
func (f *switchedFile) named(list *ast.FieldList, prefix string) (text string, names []string) {
	var parts []string
	for _, field := range list.List {
		of := slices.Clone(field.Names)
		if len(of) == 0 {
			of = []*ast.Ident{ast.NewIdent("_")}
		}
		for _, ident := range of {
			name := ident.Name
			if name == "_" {
				name = prefix + strconv.Itoa(len(names))
			}
			parts = append(parts, name+" "+f.text(field.Type.Pos(), field.Type.End()))
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			names = append(names, name)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")", names
}

// switching returns the file with the switches, and the copies behind it.
func (f *switchedFile) switching(rules map[int]brokenRule) string {
	byFunc := map[*ast.FuncDecl][]int{}
	for number, fn := range f.copies {
		byFunc[fn] = append(byFunc[fn], number)
	}
	funcs := slices.SortedFunc(maps.Keys(byFunc), func(a, b *ast.FuncDecl) int { return cmp.Compare(a.Pos(), b.Pos()) })
	var out, copies strings.Builder
	last := f.file.FileStart
	for _, fn := range funcs {
		receiver, called, types := "", "", ""
		if fn.Recv != nil {
			text, names := f.named(fn.Recv, "brokenReceiver")
			receiver, called = text+" ", names[0]+"."
		} else if fn.Type.TypeParams != nil {
			var names []string
			for _, field := range fn.Type.TypeParams.List {
				for _, name := range field.Names {
					names = append(names, name.Name)
				}
			}
			types = "[" + strings.Join(names, ", ") + "]"
		}
		parameters, arguments := f.named(fn.Type.Params, "brokenParameter")
		generic, results := "", ""
		if p := fn.Type.TypeParams; p != nil {
			generic = f.text(p.Opening, p.Closing+1)
		}
		if r := fn.Type.Results; r != nil {
			results = " " + f.text(r.Pos(), r.End())
		}
		signature := generic + parameters + results + " "
		out.WriteString(f.text(last, fn.Type.Func) + "func " + receiver + fn.Name.Name + signature + "{")
		slices.Sort(byFunc[fn])
		for _, number := range byFunc[fn] {
			name := fmt.Sprintf("%s_broken%d", fn.Name.Name, number)
			call := called + name + types + "(" + strings.Join(arguments, ", ") + ")"
			if results == "" {
				call += "; return"
			} else {
				call = "return " + call
			}
			fmt.Fprintf(&out, " if brokenRule == %q { %s };", strconv.Itoa(number), call)
			body := strings.Replace(f.text(fn.Body.Lbrace, fn.Body.Rbrace+1), rules[number].old, rules[number].new, 1)
			fmt.Fprintf(&copies, "\n//line broken-%d.go:1\nfunc %s%s%s%s\n", number, receiver, name, signature, body)
		}
		last = fn.Body.Lbrace + 1
	}
	out.WriteString(f.text(last, f.file.FileEnd))
	out.WriteString(copies.String())
	return out.String()
}

// write writes the overlay.
func (s *switched) write(t *testing.T) (overlay string) {
	replace := map[string]string{}
	for path, f := range s.files {
		if len(f.copies) == 0 {
			continue
		}
		name, folder := strings.ReplaceAll(path, "/", "-"), filepath.Dir(path)
		replace[filepath.Join(s.root, path)] = s.put(t, name, f.switching(s.rules))
		text := "package " + f.file.Name.Name + "\n\nimport \"os\"\n\nvar brokenRule = os.Getenv(\"" + brokenEnv + "\")\n"
		replace[filepath.Join(s.root, folder, "brokenrule.go")] = s.put(t, name+"-switch.go", text)
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	conformance.Must(t, err)
	return s.put(t, "overlay.json", string(content))
}

func (s *switched) put(t *testing.T, name, text string) (path string) {
	path = filepath.Join(s.overlay, name)
	conformance.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// brokenLine is where the compiler finds the copy of a rule.
var brokenLine = regexp.MustCompile(`\bbroken-(\d+)\.go:\d+:.*`)

// build compiles the tests of a folder, with all rules that compile together.
func (s *switched) build(t *testing.T, folder string) (binary string) {
	binary = filepath.Join(s.overlay, strings.ReplaceAll(folder, "/", "-")+".test")
	for {
		build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", s.write(t), "-o", binary, ".")
		build.Dir = filepath.Join(s.root, folder) // which may be in a module of its own
		output, err := build.CombinedOutput()
		if err == nil {
			return binary
		}
		if !s.drop(t, string(output)) {
			t.Fatalf("%s does not compile: %v\n%s", folder, err, output)
		}
	}
}

// drop leaves out the rules that do not compile beside the others: they are built apart. It reports whether there are any.
func (s *switched) drop(t *testing.T, output string) (some bool) {
	for _, match := range brokenLine.FindAllStringSubmatch(output, -1) {
		number, err := strconv.Atoi(match[1])
		conformance.Must(t, err)
		if rule, ok := s.rules[number]; ok {
			t.Logf("%s is built apart: %s", rule.test, match[0])
			delete(s.files[rule.file].copies, number)
			delete(s.rules, number)
			some = true
		}
	}
	return some
}

// passes sees that the tests of a folder pass as long as no rule is broken.
func (s *switched) passes(t *testing.T, folders map[string]string, folder, binary string) {
	of := map[string][]string{} // by the test that runs them; "" for none
	for _, rule := range s.rules {
		suite := ""
		if suites[rule.test] != "" {
			suite = "^TestConformance$/"
		}
		if folders[rule.test] == folder && !slices.Contains(of[suite], rule.test) {
			of[suite] = append(of[suite], rule.test)
		}
	}
	for suite, names := range of {
		test := exec.Command(binary, "-test.timeout", "30m", "-test.run", suite+"^("+strings.Join(names, "|")+")$")
		test.Dir = filepath.Join(s.root, folder)
		if output, err := test.CombinedOutput(); err != nil {
			t.Errorf("although no rule is broken, tests of %s fail: %v\n%s", folder, err, output)
		}
	}
}

// fails runs a test with a rule broken, and returns its output.
func (s *switched) fails(folder, binary, name string, number int) string {
	test := exec.Command(binary, "-test.timeout", breakTime.String(), "-test.run", runOnly(name))
	test.Dir = filepath.Join(s.root, folder)
	test.Env = append(os.Environ(), brokenEnv+"="+strconv.Itoa(number))
	output, _ := test.CombinedOutput()
	return string(output)
}
