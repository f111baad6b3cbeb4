//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Nothing is published after the first line is read, so it does not notice by printing.
func TestATailEndsWhenItsReaderHasGone(t *testing.T) {
	inFolder(t, nil)
	deadLetters(t, 3, 0)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "events", "tail", "shop.db", "--interval", "24h")
	cmd.Env = append(os.Environ(), actAsBusgen)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	must(t, stdout.Close()) // as head -1 does
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		<-ended
		t.Fatal("it goes on although nobody reads what it prints")
	}
	if err != nil {
		t.Errorf("it printed %q, and ended with %v", line, err)
	}
}
