package migrationtools

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ncruces/go-sqlite3"
	"github.com/pressly/goose/v3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// sale is the payload of the events.
type sale struct {
	Goods int64 `json:"goods"`
}

func (sale) Validate() error { return nil }

var (
	soldType  = runtime.Define(runtime.Spec[sale]{Name: "goods.sold", Settings: declare.DefaultSettings()})
	catalogue = runtime.NewCatalogue(soldType)
)

// The migrations of two releases of the program. That they run twice would show.
var (
	first  = map[string]string{"00001_goods.sql": textOf("00001_goods.sql")}
	second = with(first, "00002_shelf.sql", textOf("00002_shelf.sql"))
)

// textOf is one of the migrations that are embedded.
func textOf(name string) string {
	text, err := embedded.ReadFile("migrations/" + name)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// filesOf are migrations by their names.
func filesOf(content map[string]string) fs.FS {
	all := fstest.MapFS{}
	for name, text := range content {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// with returns content with another migration.
func with(content map[string]string, name, text string) map[string]string {
	all := maps.Clone(content)
	all[name] = text
	return all
}

// program is one that keeps its tables in the file of a bus, in a folder of its own.
type program struct {
	*testing.T
	path string
}

func newProgram(t *testing.T) *program {
	return &program{t, filepath.Join(t.TempDir(), "shop.db")}
}

func (p *program) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// locker is that of the recipe.
func (p *program) locker() goose.ProviderOption {
	return goose.WithLocker(&alone{path: p.path + ".migrating"})
}

// release runs f as a release of the program with these migrations would: after them, with the bus.
func (p *program) release(content map[string]string, f func(bus *runtime.Bus)) error {
	p.Helper()
	bus, err := runtime.Open(p.Context(), p.path, catalogue)
	p.must(err)
	defer func() { p.must(bus.Shutdown(context.Background())) }()
	err = migrate(p.Context(), bus, filesOf(content), p.locker())
	if f != nil {
		f(bus)
	}
	return err
}

// want compares what queries find in the file.
func (p *program) want(queries map[string]string) {
	p.Helper()
	c, err := sqlite3.Open(p.path)
	p.must(err)
	defer c.Close()
	for query, want := range queries {
		s, _, err := c.Prepare(query)
		p.must(err)
		var got []string
		for s.Step() {
			got = append(got, s.ColumnText(0))
		}
		p.must(s.Close())
		if found := strings.Join(got, " "); found != want {
			p.Errorf("%s: %q, want %q", query, found, want)
		}
	}
}

// soundness is what the file says when its tables belong together.
var soundness = map[string]string{"PRAGMA integrity_check": "ok", "PRAGMA foreign_key_check": ""}

// child is the program as a process of its own.
type child struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// start starts a process that opens the bus, says "open", waits for a line, and migrates with the files in a folder.
func (p *program) start(content map[string]string) *child {
	p.Helper()
	folder := p.TempDir()
	for name, text := range content {
		p.must(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	cmd := exec.Command(os.Args[0], p.path, folder)
	cmd.Env = append(os.Environ(), "MIGRATING=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	p.must(err)
	out, err := cmd.StdoutPipe()
	p.must(err)
	p.must(cmd.Start())
	c := &child{cmd, in, bufio.NewReader(out)}
	p.Cleanup(func() { cmd.Process.Kill() })
	if line, err := c.out.ReadString('\n'); line != "open\n" {
		p.Fatalf("the process says %q, %v", line, err)
	}
	return c
}

// goOn lets a process migrate.
func (c *child) goOn() error {
	_, err := fmt.Fprintln(c.in)
	return err
}

func TestMain(m *testing.M) {
	if os.Getenv("MIGRATING") == "" {
		os.Exit(m.Run())
	}
	if err := childMain(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childMain(path, folder string) (err error) {
	ctx := context.Background()
	bus, err := runtime.Open(ctx, path, catalogue)
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	if err := migrate(ctx, bus, os.DirFS(folder), goose.WithLocker(&alone{path: path + ".migrating"})); err != nil {
		return err
	}
	return bus.Shutdown(ctx)
}
