package page_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"

	"github.com/busgen/busgen/runtime/inspect/page"
)

// big makes the tests of this file and of speed_test.go measure a large file:
//
//	go test ./runtime/inspect/page -run 'Killed|Fast' -page.big -v -timeout 30m
var big = flag.Bool("page.big", false, "measure the page on a file with a million events and 100,000 dead letters")

// size is how large the file of a measurement is.
type size struct{ events, dead, group, groups int }

func sizeOf() size {
	if *big {
		return size{1_000_000, 100_000, 50_000, 50}
	}
	return size{2000, 1200, 1000, 5}
}

// fails returns the error of an event of the file, if it fails: the first ones are the
// large group.
func (s size) fails(number int) error {
	switch {
	case number >= s.dead:
		return nil
	case number < s.group:
		return runtime.Permanent(fmt.Errorf("order %d: the provider is down", number))
	}
	cause := number%(s.groups-1) + 1
	return runtime.Permanent(fmt.Errorf("order %d: cause %c%c", number, 'a'+cause/10, 'a'+cause%10))
}

// The test binary runs itself as a child that serves a page, on which a job is begun, until
// it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("BUSGEN_TEST_PAGE"); path != "" {
		if err := pageChild(path, os.Getenv("BUSGEN_TEST_FORM")); err != nil {
			fmt.Println("trouble", err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

// pageChild begins a job with the form of its plan, and says how far it is.
func pageChild(path, fields string) error {
	file, err := inspect.Open(context.Background(), path)
	if err != nil {
		return err
	}
	p, err := page.New(file, page.WithActions(func(*http.Request) (string, bool) { return "child", true }))
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(fields)
	if err != nil {
		return err
	}
	var form []string
	for name := range values {
		form = append(form, name, values.Get(name))
	}
	status, header, text := post(p, "/start-job", form...)
	if status != http.StatusSeeOther {
		return fmt.Errorf("status %d: %s", status, text)
	}
	at := strings.TrimPrefix(header.Get("Location"), ".")
	for {
		_, _, got := get(p, at)
		fmt.Println("at", at, movedOf(got))
		if strings.Contains(got, "Done: ") {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// movedOf returns how many letters the page of a job says to be changed.
func movedOf(got string) int {
	found := regexp.MustCompile(`<progress max="\d+" value="(\d+)"`).FindStringSubmatch(got)
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// beginAndKill runs a child that begins a job, and kills it when so many letters are
// retried. It returns the address of the job.
func beginAndKill(t *testing.T, path string, fields []string, at int) (job string) {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BUSGEN_TEST_PAGE="+path, "BUSGEN_TEST_FORM="+values.Encode())
	stdout, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	moved := 0
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		if _, err := fmt.Sscanf(scanner.Text(), "at %s %d", &job, &moved); err != nil {
			t.Errorf("the child says: %s", scanner.Text())
		}
		if moved >= at {
			cmd.Process.Kill()
		}
	}
	if cmd.Wait() == nil {
		t.Error("the child was not killed in time")
	}
	t.Logf("the child was killed when its page said that %d were retried", moved)
	return job
}

func TestAJobOfAKilledPageIsResumedOnAnotherOneAndEachLetterIsRetriedOnce(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	s := sizeOf()
	f := SQLite.OpenJobs(t)
	f.Failing(s.fails)
	for n := 0; n < s.dead; n += 1000 {
		f.Publish(Numbers(n, min(n+1000, s.dead))...)
	}
	f.Stop()
	i := f.Inspect()
	p := on(t, i.File)
	group := shows(t, p, link(t, shows(t, p, "/problems"), "group?"))
	of := regexp.MustCompile(`name="of" value="([^"]*)"`).FindStringSubmatch(group)[1]
	plan := shows(t, p, "/plan?kind=retry&rate=0&of="+of, "dead letters would be retried")
	job := beginAndKill(t, f.Path, formOf(t, plan, "start-job"), s.group/3)
	got := shows(t, p, job, "Interrupted, or done by another process: ")
	before := movedOf(got)
	if before < s.group/3 || before >= s.group {
		t.Errorf("%d are retried when the child is dead", before)
	}
	follow(t, p, "/resume-job", formOf(t, got, "resume-job")...)
	for !strings.Contains(got, "Done: ") {
		time.Sleep(20 * time.Millisecond)
		if got = shows(t, p, job); strings.Contains(got, "Ended with") {
			t.Fatal(got)
		}
	}
	if movedOf(got) != s.group || i.Count() != s.dead-s.group {
		t.Errorf("%d of %d are retried, %d are dead", movedOf(got), s.group, i.Count())
	}
	t.Logf("%d were retried before, %d after the resume", before, s.group-before)
	f.Repair()
	f.Reopen()
	f.Idle()
	seen := f.Seen()
	if slices.Sort(seen); !slices.Equal(seen, Numbers(0, s.group)) {
		t.Errorf("%d were handled, want each of %d once", len(seen), s.group)
	}
}
