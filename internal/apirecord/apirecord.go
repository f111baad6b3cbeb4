// Package apirecord lists what a program can use of the exported Go API, one line for each
// thing, so that a test can compare it with a record: a line that disappears breaks programs.
//
//	[Load]    packages, as the compiler has them
//	[List]    the lines of one
//	[Compare] what a change breaks, and what it adds
//
// A line has no names of parameters, because no program depends on these. An interface is one
// line with all of its methods: one more breaks the types of programs that implement it. A field
// of a struct and a method are lines of their own: one more breaks nothing.
package apirecord

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Load returns the packages that match the patterns of go list, by their import paths, as seen
// from a folder. Packages below an internal folder, and commands, are left out.
func Load(folder string, patterns ...string) (map[string]*types.Package, error) {
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.DepOnly}}\t{{.Name}}"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	files := map[string]string{}
	var paths []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		files[fields[0]] = fields[1]
		if fields[2] == "false" && fields[3] != "main" && !isInternal(fields[0]) {
			paths = append(paths, fields[0])
		}
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	packages := map[string]*types.Package{}
	for _, path := range paths {
		if packages[path], err = compiled.Import(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return packages, nil
}

func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// List returns the lines of a package, sorted.
func List(p *types.Package) []string {
	l := lister{here: p}
	for _, name := range p.Scope().Names() {
		if obj := p.Scope().Lookup(name); obj.Exported() {
			l.object(obj)
		}
	}
	slices.Sort(l.lines)
	return slices.Compact(l.lines)
}

type lister struct {
	here  *types.Package
	lines []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *lister) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		l.add("const %s %s", obj.Name(), l.of(obj.Type()))
	case *types.Var:
		l.add("var %s %s", obj.Name(), l.of(obj.Type()))
	case *types.Func:
		l.add("func %s%s", obj.Name(), l.signature(obj.Signature()))
	case *types.TypeName:
		l.typeName(obj)
	}
}

// typeName lists a type. An alias of an internal type is the only name that programs have for
// it, so it is listed like a type of this package.
func (l *lister) typeName(obj *types.TypeName) {
	named, ok := types.Unalias(obj.Type()).(*types.Named)
	if obj.IsAlias() && (!ok || named.Obj().Pkg() == nil || !isInternal(named.Obj().Pkg().Path())) {
		l.add("type %s = %s", obj.Name(), l.of(types.Unalias(obj.Type())))
		return
	}
	name := obj.Name()
	switch under := named.Underlying().(type) {
	case *types.Struct:
		l.add("type %s%s struct", name, l.typeParams(named.TypeParams()))
		for field := range under.Fields() {
			if field.Exported() {
				l.add("field %s.%s %s", name, field.Name(), l.of(field.Type()))
			}
		}
	case *types.Interface:
		l.add("type %s%s interface%s", name, l.typeParams(named.TypeParams()), l.methodsOf(under))
	default:
		l.add("type %s%s %s", name, l.typeParams(named.TypeParams()), l.of(under))
	}
	if types.IsInterface(named) {
		return
	}
	onValue := types.NewMethodSet(named)
	for method := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		if !method.Obj().Exported() {
			continue
		}
		star := "*"
		if onValue.Lookup(method.Obj().Pkg(), method.Obj().Name()) != nil {
			star = ""
		}
		l.add("method (%s%s) %s%s", star, name, method.Obj().Name(), l.signature(method.Type().(*types.Signature)))
	}
}

// methodsOf also says whether there are methods that only this module can write: then no
// program implements the interface, and one more method breaks none.
func (l *lister) methodsOf(i *types.Interface) string {
	var methods []string
	closed := false
	for m := range i.Methods() {
		if m.Exported() {
			methods = append(methods, m.Name()+l.signature(m.Signature()))
		} else {
			closed = true
		}
	}
	for e := range i.EmbeddedTypes() {
		if _, ok := e.Underlying().(*types.Interface); !ok || types.IsInterface(e) && isUnion(e) {
			methods = append(methods, l.of(e))
		}
	}
	slices.Sort(methods)
	if closed {
		methods = append(methods, "…")
	}
	return " { " + strings.Join(methods, "; ") + " }"
}

func isUnion(t types.Type) bool {
	_, ok := t.(*types.Union)
	return ok
}

// of prints a type with the names of packages, but for types of this package.
func (l *lister) of(t types.Type) string {
	if s, ok := t.(*types.Signature); ok {
		return "func" + l.signature(s)
	}
	return types.TypeString(t, func(p *types.Package) string {
		if p == l.here {
			return ""
		}
		return p.Path()
	})
}

func (l *lister) signature(s *types.Signature) string {
	var b strings.Builder
	b.WriteString(l.typeParams(s.TypeParams()) + "(")
	for i := range s.Params().Len() {
		if i > 0 {
			b.WriteString(", ")
		}
		t := s.Params().At(i).Type()
		if last := i == s.Params().Len()-1; last && s.Variadic() {
			b.WriteString("..." + l.of(t.(*types.Slice).Elem()))
		} else {
			b.WriteString(l.of(t))
		}
	}
	b.WriteByte(')')
	var results []string
	for r := range s.Results().Variables() {
		results = append(results, l.of(r.Type()))
	}
	switch len(results) {
	case 0:
	case 1:
		b.WriteString(" " + results[0])
	default:
		b.WriteString(" (" + strings.Join(results, ", ") + ")")
	}
	return b.String()
}

func (l *lister) typeParams(params *types.TypeParamList) string {
	if params.Len() == 0 {
		return ""
	}
	var all []string
	for p := range params.TypeParams() {
		all = append(all, p.Obj().Name()+" "+l.of(p.Constraint()))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Compare returns the lines of a record that are gone, which breaks programs, and the new ones.
func Compare(record, now []string) (broken, added []string) {
	for _, line := range record {
		if !slices.Contains(now, line) {
			broken = append(broken, line)
		}
	}
	for _, line := range now {
		if !slices.Contains(record, line) {
			added = append(added, line)
		}
	}
	return broken, added
}
