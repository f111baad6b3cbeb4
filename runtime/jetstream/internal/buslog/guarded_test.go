package buslog_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// guarded are the types whose fields the mu of [logView] guards, but for those that are named. They say so in their
// declarations.
var guarded = map[string][]string{
	"logView":  {"conn", "types", "limited", "missing", "ahead", "heard", "mu", "records", "allRows", "clock"},
	"clock":    {"wall", "timer"},
	"records":  {},
	"sub":      {"subscription"},
	"unit":     {"claims", "shortcut", "timer"},
	"claims":   {"reading", "calm"},
	"reading":  {"storing"},
	"storing":  {"shares", "now", "soon", "tries", "unsure", "wasBusy", "removed"},
	"shares":   {"in", "sub", "parking"},
	"parking":  {"any"},
	"consumer": {"unit", "name", "wake", "note", "heeds"},
	"handled":  {"publisher", "saying", "born", "looping"},
	"follower": {"reader", "teller", "come", "stored", "followsAll", "looking", "blind", "beginning", "expected"},
	"editor":   {"follower", "changing"},
	"cluster":  {"handled", "claiming", "itself"},
}

// unguarded are functions that need no lock for what it guards, each for a reason.
var unguarded = map[string]string{
	"Inspection.noted":  "it returns a function that is called back with mu held",
	"Inspection.Follow": "it takes mu in one of several steps",
}

// callsBack are methods that call the function that they are given with mu held.
var callsBack = map[string]bool{"edit": true, "change": true, "changeWith": true, "wait": true, "discardOpen": true, "cancel": true}

// A method that touches what mu guards takes mu, or is called with it held: by all who call it, and by no goroutine,
// timer or engine directly.
func TestWhatTheLockGuardsIsTouchedWithTheLockHeld(t *testing.T) {
	g := newGuard(t)
	for changed := true; changed; {
		changed = false
		for _, f := range g.funcs {
			if needs := g.walkFunc(f, nil); needs && !f.needs {
				f.needs, changed = true, true
			}
		}
	}
	for _, f := range g.funcs {
		g.walkFunc(f, func(at token.Pos, what string) {
			t.Errorf("%s: %s in %s without mu", g.fs.Position(at), what, f.name)
		})
		if f.needs && f.root != "" {
			t.Errorf("%s needs mu, and %s", f.name, f.root)
		}
	}
}

// guardedFunc is a function of the package.
type guardedFunc struct {
	name  string
	body  *ast.BlockStmt
	needs bool   // mu is held when it is called
	root  string // why it is called without
}

type guard struct {
	fs     *token.FileSet
	info   *types.Info
	fields map[*types.Var]string
	mu     *types.Var
	of     map[*types.Func]*guardedFunc
	funcs  []*guardedFunc
	failed func(token.Pos, string)
	needs  bool
}

func newGuard(t *testing.T) *guard {
	exports := map[string]string{}
	out, err := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}}={{.Export}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		exports[path] = file
	}
	g := &guard{fs: token.NewFileSet(), fields: map[*types.Var]string{}, of: map[*types.Func]*guardedFunc{}}
	g.info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	names, _ := filepath.Glob("*.go")
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(g.fs, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		b, err := os.ReadFile(exports[path])
		return io.NopCloser(bytes.NewReader(b)), err
	}
	config := types.Config{Importer: importer.ForCompiler(g.fs, "gc", lookup)}
	pkg, err := config.Check("buslog", g.fs, files, g.info)
	if err != nil {
		t.Fatal(err)
	}
	for name, but := range guarded {
		s, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		if !ok {
			t.Fatalf("there is no struct %s", name)
		}
		for field := range s.Fields() {
			if name == "logView" && field.Name() == "mu" {
				g.mu = field
			}
			if !slices.Contains(but, field.Name()) {
				g.fields[field] = name + "." + field.Name()
			}
		}
	}
	listening := pkg.Scope().Lookup("listener").Type().Underlying().(*types.Interface)
	for m := range listening.Methods() {
		g.of[m] = &guardedFunc{name: "listener." + m.Name(), needs: true}
	}
	for _, file := range files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				f := &guardedFunc{name: d.Name.Name, body: d.Body}
				of := g.info.Defs[d.Name].(*types.Func)
				if d.Recv != nil {
					f.name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + f.name
				}
				if unguarded[f.name] != "" || d.Name.Name == "init" {
					continue
				}
				if d.Recv != nil && d.Name.IsExported() {
					f.root = "is called by the bus"
				}
				g.of[of] = f
				g.funcs = append(g.funcs, f)
			}
		}
	}
	return g
}

// lockState says who has taken mu.
type lockState int

const (
	entry lockState = iota // nobody here, since the function was called
	held
	free // it was given back
	gone // the code ends here
)

// walkFunc reports whether a function needs mu when it is called, and tells failed of what it does without mu.
func (g *guard) walkFunc(f *guardedFunc, failed func(token.Pos, string)) bool {
	g.needs, g.failed = false, failed
	g.block(f.body.List, entry)
	return g.needs
}

// touch notes something for which mu has to be held.
func (g *guard) touch(s lockState, at token.Pos, what string) {
	switch {
	case s == entry:
		g.needs = true
	case s == free && g.failed != nil:
		g.failed(at, what)
	}
}

func (g *guard) block(list []ast.Stmt, s lockState) lockState {
	for _, one := range list {
		s = g.stmt(one, s)
	}
	return s
}

// join returns the state behind two ways.
func join(a, b lockState) lockState {
	switch {
	case a == gone:
		return b
	case b == gone || a == b:
		return a
	case a == free || b == free:
		return free
	}
	return entry
}

func (g *guard) stmt(n ast.Stmt, s lockState) lockState {
	switch n := n.(type) {
	case nil:
		return s
	case *ast.BlockStmt:
		return g.block(n.List, s)
	case *ast.LabeledStmt:
		return g.stmt(n.Stmt, s)
	case *ast.ReturnStmt:
		g.exprs(n.Results, s)
		return gone
	case *ast.BranchStmt:
		if n.Tok == token.BREAK {
			return s // what follows the loop; the rest of the case is not there
		}
		return gone
	case *ast.IfStmt:
		s = g.stmt(n.Init, s)
		then := s
		s = g.expr(n.Cond, s)
		if g.entersIn(n.Init) || g.entersIn(n.Cond) {
			then, s = free, held
			if then = g.block(n.Body.List, gone); then == gone {
				return s
			}
			return s
		}
		then = g.block(n.Body.List, s)
		if n.Else != nil {
			return join(then, g.stmt(n.Else, s))
		}
		return join(then, s)
	case *ast.ForStmt:
		s = g.stmt(n.Init, s)
		if n.Cond != nil {
			s = g.expr(n.Cond, s)
		}
		after := g.stmt(n.Post, g.block(n.Body.List, s))
		if n.Cond == nil {
			return join(after, gone)
		}
		return join(s, after)
	case *ast.RangeStmt:
		s = g.expr(n.X, s)
		return join(s, g.block(n.Body.List, s))
	case *ast.SwitchStmt:
		s = g.stmt(n.Init, s)
		if n.Tag != nil {
			s = g.expr(n.Tag, s)
		}
		return g.cases(n.Body, s)
	case *ast.TypeSwitchStmt:
		return g.cases(n.Body, g.stmt(n.Assign, g.stmt(n.Init, s)))
	case *ast.SelectStmt:
		return g.cases(n.Body, s)
	case *ast.DeferStmt:
		if !g.isLock(n.Call, "Unlock") && !g.isLock(n.Call, "Lock") {
			g.expr(n.Call, s)
		}
		return s
	case *ast.GoStmt:
		g.away(n.Call.Fun)
		g.exprs(n.Call.Args, s)
		return s
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
				return gone
			}
		}
		return g.expr(n.X, s)
	case *ast.AssignStmt:
		for _, x := range n.Rhs {
			s = g.expr(x, s)
		}
		g.exprs(n.Lhs, s)
		return s
	}
	ast.Inspect(n, func(x ast.Node) bool {
		if e, ok := x.(ast.Expr); ok {
			s = g.expr(e, s)
			return false
		}
		return true
	})
	return s
}

func (g *guard) cases(body *ast.BlockStmt, s lockState) lockState {
	after, whole := gone, false
	for _, c := range body.List {
		switch c := c.(type) {
		case *ast.CaseClause:
			whole = whole || c.List == nil
			g.exprs(c.List, s)
			after = join(after, g.block(c.Body, s))
		case *ast.CommClause:
			whole = true
			after = join(after, g.block(c.Body, g.stmt(c.Comm, s)))
		}
	}
	if !whole {
		after = join(after, s)
	}
	return after
}

func (g *guard) exprs(list []ast.Expr, s lockState) {
	for _, x := range list {
		g.expr(x, s)
	}
}

// away is a function that is called by another goroutine.
func (g *guard) away(fun ast.Expr) {
	switch fun := fun.(type) {
	case *ast.FuncLit:
		g.block(fun.Body.List, free)
	case *ast.SelectorExpr:
		if f := g.of[g.callee(fun)]; f != nil && f.root == "" {
			f.root = fmt.Sprintf("is called by a goroutine or a timer at %s", g.fs.Position(fun.Pos()))
		}
	}
}

// entersIn reports whether a condition is that of enter.
func (g *guard) entersIn(n ast.Node) (found bool) {
	if n == nil || n == ast.Node((ast.Stmt)(nil)) {
		return false
	}
	ast.Inspect(n, func(x ast.Node) bool {
		if call, ok := x.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && g.enters(sel) {
				found = true
			}
		}
		return true
	})
	return found
}

// enters reports whether a function has taken mu when it returns no error.
func (g *guard) enters(sel *ast.SelectorExpr) bool {
	f := g.callee(sel)
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == "buslog" && slices.Contains([]string{"enter", "look"}, f.Name()) && f.Signature().Results().Len() == 1 &&
		types.Identical(f.Signature().Results().At(0).Type(), types.Universe.Lookup("error").Type())
}

func (g *guard) callee(sel *ast.SelectorExpr) *types.Func {
	f, _ := g.info.Uses[sel.Sel].(*types.Func)
	return f
}

// isLock reports whether a call locks or unlocks mu.
func (g *guard) isLock(call *ast.CallExpr, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	inner, ok := sel.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	s := g.info.Selections[inner]
	return s != nil && s.Obj() == types.Object(g.mu)
}

func (g *guard) expr(x ast.Expr, s lockState) lockState {
	switch x := x.(type) {
	case nil:
	case *ast.CallExpr:
		switch {
		case g.isLock(x, "Lock"):
			return held
		case g.isLock(x, "Unlock"):
			return free
		}
		sel, _ := x.Fun.(*ast.SelectorExpr)
		if sel == nil {
			if lit, ok := x.Fun.(*ast.FuncLit); ok {
				s = g.block(lit.Body.List, s)
			} else {
				s = g.expr(x.Fun, s)
			}
		}
		for _, arg := range x.Args {
			if sel != nil && (sel.Sel.Name == "Go" || sel.Sel.Name == "AfterFunc") {
				if _, ok := g.info.TypeOf(arg).Underlying().(*types.Signature); ok {
					g.away(arg)
					continue
				}
			}
			if _, ok := g.info.TypeOf(arg).Underlying().(*types.Signature); ok && sel != nil && callsBack[sel.Sel.Name] {
				g.expr(arg, held)
				continue
			}
			s = g.expr(arg, s)
		}
		if sel != nil {
			s = g.expr(sel.X, s)
			callee := g.callee(sel)
			if g.enters(sel) {
				return held
			} else if f := g.of[callee]; f != nil && f.needs {
				g.touch(s, x.Pos(), "it calls "+f.name)
			} else if field, ok := g.info.Uses[sel.Sel].(*types.Var); ok && g.fields[field] != "" {
				g.touch(s, x.Pos(), "it uses "+g.fields[field])
			}
		} else if id, ok := x.Fun.(*ast.Ident); ok {
			if f := g.of[asFunc(g.info.Uses[id])]; f != nil && f.needs {
				g.touch(s, x.Pos(), "it calls "+f.name)
			}
		}
	case *ast.SelectorExpr:
		s = g.expr(x.X, s)
		if field, ok := g.info.Uses[x.Sel].(*types.Var); ok && g.fields[field] != "" {
			g.touch(s, x.Pos(), "it uses "+g.fields[field])
		} else if f := g.of[g.callee(x)]; f != nil && f.needs { // a method value
			g.touch(s, x.Pos(), "it passes "+f.name)
		}
	case *ast.FuncLit:
		g.block(x.Body.List, s)
	case *ast.CompositeLit:
		for _, e := range x.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				s = g.expr(kv.Value, s)
			} else {
				s = g.expr(e, s)
			}
		}
	default:
		ast.Inspect(x, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && n != ast.Node(x) {
				s = g.expr(e, s)
				return false
			}
			return true
		})
	}
	return s
}

func asFunc(o types.Object) *types.Func { f, _ := o.(*types.Func); return f }
