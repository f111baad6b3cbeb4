//go:build unix

package servertest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Role is what a child process of a test does. It ends when the role returns.
type Role func(args []string)

// roleVariable names the role of a child process.
const roleVariable = "BUSGEN_TEST_ROLE"

// Main is the TestMain of a package whose tests start child processes: a child is the
// test's own program in one of the roles. The role "server" is there already.
func Main(m *testing.M, roles map[string]Role) {
	name, child := os.LookupEnv(roleVariable)
	if !child {
		status := m.Run()
		os.RemoveAll(folder)
		os.Exit(status)
	}
	role := roles[name]
	if name == serverRole {
		role = serve
	}
	if role == nil {
		fmt.Fprintln(os.Stderr, "there is no role", name)
		os.Exit(2)
	}
	role(os.Args[1:])
	os.Exit(0)
}

// Process is a child process of a test.
type Process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
	once  sync.Once
}

// StartProcess starts the test's program in a role. Each line that the process writes to its
// standard output is passed to line, in order, the last ones before Wait returns; line may be
// nil. The process is killed when the test ends.
func StartProcess(t testing.TB, line func(string), role string, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	return start(t, cmd, line)
}

// start starts a command, as StartProcess does.
func start(t testing.TB, cmd *exec.Cmd, line func(string)) *Process {
	t.Helper()
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewReader(out)
		for {
			text, err := lines.ReadString('\n')
			if err != nil { // a line that was not written whole was not written
				break
			}
			if line != nil {
				line(strings.TrimSuffix(text, "\n"))
			}
		}
		p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.Kill)
	return p
}

// Kill ends the process with SIGKILL, and waits until it has ended.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// Stop stops the process with SIGSTOP: it does nothing until Continue, and keeps its
// connections.
func (p *Process) Stop() { p.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue ends Stop.
func (p *Process) Continue() { p.cmd.Process.Signal(syscall.SIGCONT) }

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Dump ends the process, which writes where its goroutines are.
func (p *Process) Dump() {
	p.cmd.Process.Signal(syscall.SIGQUIT)
	<-p.ended
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// End asks the process to end, by closing its standard input, and kills it if it has not
// done so after a time. It reports whether the process has ended by itself.
func (p *Process) End(patience time.Duration) bool {
	p.once.Do(func() { p.stdin.Close() })
	select {
	case <-p.ended:
		return true
	case <-time.After(patience):
		p.Kill()
		return false
	}
}

// Asked returns a channel that is closed when the parent of this process wants it to end, or
// has ended itself.
func Asked() <-chan struct{} {
	asked := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(asked)
	}()
	return asked
}

// Say writes a line for the parent. Lines that were written before the process is killed arrive.
func Say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
