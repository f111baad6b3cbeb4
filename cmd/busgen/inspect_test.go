//go:build unix

package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"log/slog"
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

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
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
	folder, err := os.Getwd()
	must(t, err)
	s := inspected(t)
	if status, _ := s.answer(s.Head(s.address)); status != http.StatusOK {
		t.Errorf("a HEAD with the token: %d", status)
	}
	if status, text := s.answer(s.Get(s.base)); status != http.StatusForbidden || strings.Contains(text, "charge-card") {
		t.Errorf("without the token: %d\n%s", status, text)
	}
	if status, _ := s.answer(s.Get(s.address)); status != http.StatusOK {
		t.Errorf("with the token: %d", status)
	}
	status, text := s.answer(s.Get(s.base))
	for _, want := range []string{"No process dispatches", "5 dead letters are to be looked at.", "charge-card", "busgen subscriptions pause " + folder + "/shop.db charge-card"} {
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
	if got := does(t, "busgen audit list shop.db"); !strings.Contains(got, "ada  pause") {
		t.Errorf("the audit:\n%s", got)
	}
}

// storeSchema opens shop.db with the generated code of the shop.
func storeSchema(t *testing.T) {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte(clitest.ShopCatalogue))
	if findings != nil {
		t.Fatal(findings)
	}
	var types []runtime.Definition
	for _, e := range c.Events {
		if e.Name.V == "payment.requested" {
			types = append(types, runtime.Define(runtime.Spec[clitest.PaymentRequested]{Name: e.Name.V, Settings: clitest.ShopSettings(), Schema: schema.Of(e)}))
		}
	}
	bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(types...), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	must(t, bus.Shutdown(t.Context()))
}

func TestAPayloadIsCorrectedOnThePageAndCheckedFirst(t *testing.T) {
	for _, flags := range [][]string{{"--catalogue", "events.yaml"}, nil} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			inFolder(t, map[string]string{"events.yaml": clitest.ShopCatalogue})
			deadLetters(t, 0, 1)
			if len(flags) == 0 {
				storeSchema(t)
			}
			s := inspected(t, append(flags, "--allow-actions", "--actor", "ada")...)
			s.answer(s.Get(s.address))
			at := func(text, pattern string) string {
				found := regexp.MustCompile(pattern).FindStringSubmatch(text)
				if found == nil {
					t.Fatalf("no %s in\n%s", pattern, text)
				}
				return html.UnescapeString(found[1])
			}
			_, text := s.answer(s.Get(s.base + "problems"))
			letter := at(text, `href="\./(letter[^"]*)"`)
			_, text = s.answer(s.Get(s.base + letter))
			key, err := url.Parse(letter)
			must(t, err)
			edit := func(payload string) (int, string) {
				return s.answer(s.PostForm(s.base+"edit-letter", url.Values{"event": key.Query()["event"], "subscription": key.Query()["subscription"], "payload": {payload}}))
			}
			for _, wrong := range []string{`{"order": "<x>"}`, `{"order": 1`, `[]`} {
				status, text := edit(wrong)
				kept := html.UnescapeString(at(text, `(?s)<textarea[^>]*>\n(.*?)</textarea>`))
				if status != http.StatusBadRequest || kept != wrong || !strings.Contains(text, "was not edited") || !strings.Contains(text, "Nothing was changed.") {
					t.Errorf("%s: status %d\n%s", wrong, status, text)
				}
			}
			if status, text := edit(`{"order": 7, "cents": 100}`); status != http.StatusOK || !strings.Contains(text, "was made from the dead letter, for charge-card.") {
				t.Errorf("status %d\n%s", status, text)
			}
			s.interrupted()
			if got := does(t, "busgen audit list shop.db"); strings.Count(got, "ada  edit") != 1 {
				t.Errorf("the audit:\n%s", got)
			}
		})
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
