//go:build unix

package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Binary is the program nats-server of some version.
type Binary struct {
	Version string
	path    string
}

// oldest is the folder of the module that names the oldest version which a test runs, from the root of
// the engine's module.
const oldest = "testdata/oldserver"

// Binaries returns the program in the version of this module, and in the oldest one that the pages
// name. It builds them, once for all tests of a program that call it in the root of the module. A version that
// cannot be had is left out, and the log of the test says so; .ci/run downloads both.
func Binaries(t testing.TB) (all []Binary) {
	t.Helper()
	for _, module := range []string{".", oldest} {
		b, err := build(module, serverPackage, "")
		if err != nil {
			t.Logf("SKIPPED: the nats-server of %s/go.mod cannot be built: %v", module, err)
			continue
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		t.Skip("no nats-server can be built")
	}
	return all
}

var (
	building sync.Mutex
	built    = map[string]Binary{} // by module
	folder   string                // of what was built; Main deletes it
)

const (
	serverPackage  = "github.com/nats-io/nats-server/v2"
	commandPackage = "github.com/nats-io/natscli"
	commandModule  = "testdata/natscommand"
)

// Command returns the path of the command nats, which it builds. The test is skipped if it cannot be had.
func Command(t testing.TB) (path string) {
	t.Helper()
	b, err := build(commandModule, commandPackage, "/nats")
	if err != nil {
		t.Skipf("SKIPPED: the command nats of %s/go.mod cannot be built: %v", commandModule, err)
	}
	return b.path
}

// build builds a program of a module, in the version of the go.mod in a folder.
func build(module, of, below string) (b Binary, err error) {
	building.Lock()
	defer building.Unlock()
	if b, done := built[module]; done {
		return b, nil
	}
	if folder == "" {
		if folder, err = os.MkdirTemp("", "busgen-servers"); err != nil {
			return b, err
		}
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = module
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	if b.Version, err = run("list", "-m", "-f", "{{.Version}}", of); err != nil {
		return b, err
	}
	b.path = filepath.Join(folder, filepath.Base(module)+"-"+b.Version)
	if _, err = run("build", "-o", b.path, of+below); err == nil {
		built[module] = b
	}
	return b, err
}

// Configured is a server that was started with a file of settings, as a process.
type Configured struct {
	*Process
	file, log string
}

// startTime is how long a server may take until it says that it is ready.
const startTime = 30 * time.Second

// Start starts the server with settings, and waits until it listens. It ends with the test. When the
// settings are wrong, the error has what the server says about them.
func (b Binary) Start(t testing.TB, settings string) (*Configured, error) {
	t.Helper()
	dir := t.TempDir()
	c := &Configured{file: filepath.Join(dir, "nats.conf"), log: filepath.Join(dir, "log")}
	if err := os.WriteFile(c.file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	said, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer said.Close()
	cmd := exec.Command(b.path, "-c", c.file)
	cmd.Stderr = said
	c.Process = start(t, cmd, nil)
	for until := time.Now().Add(startTime); !strings.Contains(c.Log(), "Server is ready"); time.Sleep(20 * time.Millisecond) {
		select {
		case <-c.Ended():
			return nil, fmt.Errorf("nats-server %s does not start: %s", b.Version, c.Log())
		default:
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("nats-server %s is not ready: %s", b.Version, c.Log())
		}
	}
	return c, nil
}

// Reload changes the settings of the server while it runs, and waits until it has taken them.
func (c *Configured) Reload(t testing.TB, settings string) {
	t.Helper()
	before := strings.Count(c.Log(), "Reloaded server configuration")
	if err := os.WriteFile(c.file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c.cmd.Process.Signal(syscall.SIGHUP)
	for until := time.Now().Add(startTime); strings.Count(c.Log(), "Reloaded server configuration") == before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the server does not take other settings: %s", c.Log())
		}
	}
}

// Log returns what the server has said so far.
func (c *Configured) Log() string {
	text, _ := os.ReadFile(c.log)
	return string(text)
}

// Ports returns n ports of this machine that are free.
func Ports(t testing.TB, n int) []int { return quietPorts(t, n) }
