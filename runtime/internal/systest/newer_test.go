package systest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() {
	for version := 1; version <= 2; version++ {
		children["parcels "+strconv.Itoa(version)] = func(path string) {
			asked := make(chan struct{})
			go func() {
				io.Copy(io.Discard, os.Stdin)
				close(asked)
			}()
			check(ParcelProgram(version, opener(path), say, asked))
		}
	}
}

func opener(path string) func(*runtime.Catalogue) (*runtime.Bus, error) {
	return func(c *runtime.Catalogue) (*runtime.Bus, error) { return runtime.Open(context.Background(), path, c) }
}

func TestTwoVersionsOfAProgramTakeTurnsWithOneFileForwardBackAndForwardAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	p := &TwoPrograms{T: t, Open: opener(path), Start: func(version int, line func(string)) (end func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childMode+"=parcels "+strconv.Itoa(version), childFile+"="+path)
		stdin, err := cmd.StdinPipe()
		Must(t, err)
		stdout, err := cmd.StdoutPipe()
		Must(t, err)
		cmd.Stderr = os.Stderr
		Must(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill() })
		read := make(chan struct{})
		go func() {
			defer close(read)
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				line(lines.Text())
			}
		}()
		return func() {
			stdin.Close()
			<-read
			Must(t, cmd.Wait())
		}
	}}
	p.Run()
}
