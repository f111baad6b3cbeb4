package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/runtime/inspect"
)

// drillModule is a Go module with the code of all changes of the drill, each in a package of
// its own. They are compiled into one program, because compiling takes the longest.
type drillModule struct {
	t        *testing.T
	names    []string // of the changes
	root     string   // of this project
	folder   string
	taken    []taken
	codes    map[string]string // packages of the module by their code
	stored   string            // the payloads of the live file
	outcomes map[string]outcome
	// published is what handlers should get, by row: its name, and "dead" or "pending".
	published map[string]string
}

// taken is the code of one change.
type taken struct {
	name, change string // "c07", and the change of which it has the code; none for yesterday's
	code         string // the package with that code
	catalogue    *catalog.Catalogue
}

// outcome is what has become of the rows of a file.
type outcome struct {
	rows     map[string]string // the payload that a handler got, or the state of the row
	leftover []string          // subscriptions of which the bus has warned
	unopened string            // why the bus was not opened
	stored   string
}

func newDrillModule(t *testing.T) *drillModule {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	m := &drillModule{t: t, names: slices.Sorted(maps.Keys(changes)), root: root, folder: t.TempDir(),
		published: map[string]string{}, codes: map[string]string{}, outcomes: map[string]outcome{}}
	if testing.Short() {
		m.names = m.names[:8] // each is a package that is compiled
	}
	for name, text := range map[string][]byte{"go.mod": readIn(t, root, "go.mod"), "go.sum": readIn(t, root, "go.sum"),
		"show.go": drillFile("show.go"), "rows.go": drillFile("rows.go")} {
		m.add(name, text)
	}
	m.golang("mod", "edit", "-module=example.com/drill", "-droptool=github.com/busgen/busgen/cmd/busgen",
		"-require=github.com/busgen/busgen@v0.0.0", "-replace=github.com/busgen/busgen="+root)
	for _, name := range []string{"older", "before"} {
		d := &drill{t: t, folder: "events", catalogue: "events.yaml"}
		inDrillFolder(t, drillFile(name+".yaml"), func() {
			busgen(t, "-q "+d.events()).Wants(t, 0, "", "")
			m.takeAs(t, d, name, drillUpcasts(name, ""))
		})
	}
	return m
}

// drillUpcasts returns the upcasts that the code of a catalogue needs.
func drillUpcasts(name, own string) string {
	switch {
	case own == "-" || name == "older":
		return ""
	case own != "":
		return own
	}
	return string(drillFile("upcasts.go"))
}

func readIn(t *testing.T, folder, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	must(t, err)
	return text
}

func (m *drillModule) add(name string, text []byte) {
	m.t.Helper()
	path := filepath.Join(m.folder, filepath.FromSlash(name))
	must(m.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, text, 0o666)))
}

// golang calls the go command in the module, without the network.
func (m *drillModule) golang(args ...string) {
	m.t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = m.folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("go %v: %v\n%s", args, err, out)
	}
}

// take keeps the code of a change for the module.
func (m *drillModule) take(t *testing.T, d *drill, c carelessChange) {
	m.takeAs(t, d, fmt.Sprintf("c%02d", len(m.taken)), drillUpcasts("", c.upcasts))
}

// takeAs uses a package again that has the same code.
func (m *drillModule) takeAs(t *testing.T, d *drill, name, upcasts string) {
	t.Helper()
	c, findings, err := parse.Load(d.events())
	must(t, err)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	paths, err := filepath.Glob(cmp.Or(d.out, d.folder) + "/*.gen.go")
	must(t, err)
	files, code := map[string][]byte{}, ""
	for _, path := range paths {
		files[filepath.Base(path)] = readIn(t, ".", path)
	}
	if upcasts != "" {
		files["upcasts.go"] = []byte(upcasts)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		code += file + string(files[file])
	}
	p := taken{name: name, change: d.name, code: name, catalogue: c}
	if same, ok := m.codes[code]; ok {
		p.code = same
	} else {
		m.codes[code] = name
		for file, text := range files {
			m.add(name+"/"+file, text)
		}
	}
	m.taken = append(m.taken, p)
}

// compile makes one program of all changes, and runs it: first as the program that makes the
// live file, and then as the new program of each change, on a copy of the file.
func (m *drillModule) compile() {
	t := m.t
	t.Helper()
	var imports, subscribing, table strings.Builder
	for _, p := range m.taken {
		if p.code == p.name {
			fmt.Fprintf(&imports, "\t%s %q\n", p.name, "example.com/drill/"+p.name)
		}
		function := "subscribe" + strings.ToUpper(p.name[:1]) + p.name[1:]
		fmt.Fprintf(&subscribing, "\nfunc %s(bus *runtime.Bus) {\n", function)
		for _, e := range p.catalogue.Events {
			for _, one := range e.Subscriptions {
				fmt.Fprintf(&subscribing, "\tsubscribe(bus, %s.Subscribe%s, %s.%s)\n", p.code, e.GoName, p.code, one.GoName)
			}
		}
		subscribing.WriteString("}\n")
		fmt.Fprintf(&table, "\t%q: {%s.Open, %s},\n", p.name, p.code, function)
	}
	m.add("programs.go", []byte("package main\n\nimport (\n"+imports.String()+"\n\t\"github.com/busgen/busgen/runtime\"\n)\n\nvar programs = map[string]program{\n"+
		table.String()+"}\n"+subscribing.String()))
	m.golang("build", "-ldflags=-s -w", "-gcflags=example.com/drill/...=-N -l", "-o", "drill")

	live := filepath.Join(m.folder, "live.db")
	for row, shown := range m.run(t, "yesterday", live)["yesterday"].rows {
		m.published[row] = shown
	}
	m.stored = m.look(t, live).stored
	args := []string{}
	for _, p := range m.taken {
		if p.change != "" {
			m.add(p.name+".db", readIn(t, m.folder, "live.db"))
			path := filepath.Join(m.folder, p.name+".db")
			retryAll(t, path)
			args = append(args, p.name, path)
		}
	}
	said := m.run(t, args...)
	for _, p := range m.taken {
		if p.change == "" {
			continue
		}
		got, found := said[p.name], m.look(t, filepath.Join(m.folder, p.name+".db"))
		for row, state := range found.rows {
			if state != "done" { // which says nothing about a handler
				got.rows[row] = strings.TrimPrefix(got.rows[row]+" and "+state, " and ")
			}
		}
		got.stored = found.stored
		m.outcomes[p.change] = got
	}
}

// retryAll gives the dead letters of a file to the next program.
func retryAll(t *testing.T, path string) {
	t.Helper()
	file, err := inspect.Open(t.Context(), path)
	must(t, err)
	defer file.Close()
	_, err = file.Retry(t.Context(), inspect.Selection{})
	must(t, err)
}

// run runs programs, each on a file, and returns what they say.
func (m *drillModule) run(t *testing.T, args ...string) map[string]outcome {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(filepath.Join(m.folder, "drill"), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	all, now, handled := map[string]outcome{}, outcome{rows: map[string]string{}}, map[string]bool{}
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var line struct{ Program, Row, Subscription, Handled, Warning, Unopened string }
		must(t, decoder.Decode(&line))
		switch {
		case line.Program != "":
			all[line.Program], now, handled = now, outcome{rows: map[string]string{}}, map[string]bool{}
		case line.Unopened != "":
			now.unopened = line.Unopened
		case line.Warning != "":
			if name, ok := strings.CutPrefix(line.Warning, "a subscription has pending events, and this program has no handler for it: "); ok {
				now.leftover = append(now.leftover, name)
			}
		case handled[line.Row+line.Subscription]:
			t.Errorf("%s was handled twice by %s", line.Row, line.Subscription)
		default:
			handled[line.Row+line.Subscription] = true
			now.rows[line.Row] = line.Handled
		}
	}
	return all
}

// look reads what a file holds: the state of each row, and its payloads.
func (m *drillModule) look(t *testing.T, path string) (found outcome) {
	t.Helper()
	found.rows = map[string]string{}
	db, err := sqlite3.Open(path)
	must(t, err)
	defer db.Close()
	rows, _, err := db.Prepare(`
		SELECT json_extract(metadata, '$.correlation_id'), status, payload,
		  (SELECT group_concat(d.reason || iif(d.payload = e.payload, '', ' with other bytes')) FROM dead_letters d WHERE d.event_id = e.id)
		FROM events e ORDER BY 1`)
	must(t, err)
	defer rows.Close()
	for rows.Step() {
		state := rows.ColumnText(1)
		if state == "dlq" {
			state = "dead letter, " + rows.ColumnText(3)
		}
		found.rows[rows.ColumnText(0)] = state
		found.stored += rows.ColumnText(0) + " " + rows.ColumnText(2) + "\n"
	}
	must(t, rows.Err())
	return found
}
