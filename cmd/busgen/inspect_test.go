//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pageServer is a process that runs busgen inspect, and a browser without JavaScript.
type pageServer struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string // with the token
	base    string // the folder of the pages
	http.Client
}

// inspected starts busgen inspect on shop.db.
func inspected(t *testing.T, flags ...string) *pageServer {
	t.Helper()
	s := &pageServer{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], append([]string{"inspect", "shop.db"}, flags...)...)}
	s.cmd.Env = append(os.Environ(), actAsBusgen)
	stdout, err := s.cmd.StdoutPipe()
	must(t, err)
	must(t, s.cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	s.address = regexp.MustCompile(`http://\S+`).FindString(line)
	s.base, _, _ = strings.Cut(s.address, "?")
	s.Jar, err = cookiejar.New(nil)
	must(t, err)
	s.Timeout = time.Minute
	return s
}

// answer returns the status and the text of an answer.
func (s *pageServer) answer(response *http.Response, err error) (int, string) {
	s.t.Helper()
	must(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(s.t, err)
	return response.StatusCode, string(text)
}

// interrupted ends the process with Ctrl-C.
func (s *pageServer) interrupted() {
	s.t.Helper()
	must(s.t, s.cmd.Process.Signal(syscall.SIGINT))
	if err := s.cmd.Wait(); err != nil && !s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		s.t.Errorf("it ended with %v", err)
	}
}

func TestThePageOfADeadProgramIsForOneBrowserAndOnlyLooks(t *testing.T) {
	inFolder(t, nil)
	deadLetters(t, 3, 2)
	before := read(t, "shop.db")
	s := inspected(t)
	if status, text := s.answer(s.Get(s.base)); status != http.StatusForbidden || strings.Contains(text, "charge-card") {
		t.Errorf("without the token: %d\n%s", status, text)
	}
	if status, _ := s.answer(s.Get(s.address)); status != http.StatusOK {
		t.Errorf("with the token: %d", status)
	}
	status, text := s.answer(s.Get(s.base))
	for _, want := range []string{"No process dispatches", "5 dead letters are to be looked at.", "charge-card", "busgen subscriptions pause shop.db charge-card"} {
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("status %d, want %q in\n%s", status, want, text)
		}
	}
	if status, _ := s.answer(http.Get(s.address)); status != http.StatusForbidden {
		t.Errorf("another browser with the same address: %d", status)
	}
	if status, _ := s.answer(s.PostForm(s.base+"pause", url.Values{"subscription": {"charge-card"}})); status != http.StatusForbidden {
		t.Errorf("an action without --allow-actions: %d", status)
	}
	rebound, err := http.NewRequest("GET", s.base, nil)
	must(t, err)
	rebound.Host = "evil.example"
	if status, text := s.answer(s.Do(rebound)); status != http.StatusForbidden || strings.Contains(text, "charge-card") {
		t.Errorf("another host: %d\n%s", status, text)
	}
	s.interrupted()
	if read(t, "shop.db") != before {
		t.Error("the file has changed")
	}
}

func TestActionsOfThePageAreInTheAuditUnderTheNameOfTheActor(t *testing.T) {
	inFolder(t, nil)
	deadLetters(t, 1, 1)
	s := inspected(t, "--allow-actions", "--actor", "ada")
	s.answer(s.Get(s.address))
	if status, text := s.answer(s.PostForm(s.base+"pause", url.Values{"subscription": {"charge-card"}})); status != http.StatusOK || !strings.Contains(text, "Subscription charge-card is paused.") {
		t.Errorf("status %d\n%s", status, text)
	}
	s.interrupted()
	if got := does(t, "busgen audit shop.db"); !strings.Contains(got, "ada  pause") {
		t.Errorf("the audit:\n%s", got)
	}
}

func TestThePageIsNotServedToOthers(t *testing.T) {
	inFolder(t, nil)
	deadLetters(t, 1, 0)
	for flags, want := range map[string]string{
		"--addr 0.0.0.0:0":   "which others could reach",
		"--addr :8080":       "which others could reach",
		"--addr 10.0.0.1:80": "which others could reach",
		"--addr 8080":        "want an address of this machine",
		"--actor ada":        "say --allow-actions, too",
	} {
		if got := typed(t, "busgen inspect shop.db "+flags, ""); got.Status != 2 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: %+v, want %q", flags, got, want)
		}
	}
}
