package systest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// These tests kill real processes: the test binary runs itself as a child,
// which says on its standard output what was acknowledged to it. A line is one
// write to a pipe, so it outlives the child.

const (
	childMode = "BUSGEN_TEST_CHILD"
	childFile = "BUSGEN_TEST_FILE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "publisher":
		publisherChild(os.Getenv(childFile))
	case "poisoned":
		poisonedChild(os.Getenv(childFile))
	case "group":
		groupChild(os.Getenv(childFile), PlacedType, Catalogue, "A", "B", "C")
	case "declared group":
		groupChild(os.Getenv(childFile), chainPlaced, runtime.NewCatalogue(chainPlaced), "C", "B", "A")
	case "owner":
		ownerChild(os.Getenv(childFile))
	default:
		if run := children[os.Getenv(childMode)]; run != nil {
			run(os.Getenv(childFile))
			return
		}
		os.Exit(m.Run())
	}
}

// children holds further programs of a child process, by their mode. Tests add those
// that they need.
var children = map[string]func(path string){}

// publisherChild publishes and handles until it is killed. It says
//
//	published <id>       Publish has returned nil
//	running <id> <n>     a handler is called for attempt n
//	returning <id>       it is about to return
//	handled <id>         Receipt.Wait has returned
func publisherChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		say("running %s %d", e.ID, e.Attempt)
		defer say("returning %s", e.ID)
		if e.Payload.Number%7 == 0 && e.Attempt == 1 {
			return ErrBoom
		}
		if e.Payload.Number%13 == 0 {
			<-time.After(8 * time.Millisecond) // so long that the file says that it runs
		}
		return nil
	}, runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(1000)))
	check(err)
	check(bus.Start(context.Background()))
	say("ready")
	var publishers sync.WaitGroup
	for p := range 4 {
		publishers.Go(func() {
			for n := p; ; n++ {
				receipt, err := runtime.Publish(context.Background(), bus, PlacedType, OrderPlaced{OrderID: "A", Number: n})
				check(err)
				say("published %s", receipt.ID)
				if n%4 == 0 {
					_, err := receipt.Wait(context.Background())
					check(err)
					say("handled %s", receipt.ID)
				}
			}
		})
	}
	publishers.Wait()
}

// poisonedChild handles what is there until an event kills it.
func poisonedChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		say("running %d %d", e.Payload.Number, e.Attempt)
		if e.Payload.OrderID == "poison" {
			process, _ := os.FindProcess(os.Getpid())
			process.Kill()
			select {}
		}
		return nil
	}, runtime.FromBeginning(), runtime.WithRetry(retry.MaxAttempts(3)))
	check(err)
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

// ownerChild dispatches until it is killed.
func ownerChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	check(bus.Start(context.Background()))
	say("ready")
	select {}
}

// wandererChild opens the file by its bare name in the folder where it is, goes
// elsewhere, and dispatches until it is killed.
func wandererChild(path string) {
	check(os.Chdir(filepath.Dir(path)))
	bus, err := runtime.Open(context.Background(), filepath.Base(path), Catalogue)
	check(err)
	check(os.Chdir(os.TempDir()))
	check(bus.Start(context.Background()))
	say("ready")
	select {}
}

func say(format string, args ...any) { os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n") }

func check(err error) {
	if err != nil {
		say("trouble %v", err)
		os.Exit(3)
	}
}

// child starts a child; killAfter, if positive, is how long it lives once it
// is ready. It returns what the child has said.
func child(t *testing.T, mode, path string, killAfter time.Duration) (lines []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childFile+"="+path)
	stdout, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		line := scanner.Text()
		if line == "ready" && killAfter > 0 {
			time.AfterFunc(killAfter, func() { cmd.Process.Kill() })
		}
		if problem, found := strings.CutPrefix(line, "trouble "); found {
			t.Errorf("the child says: %s", problem)
		}
		lines = append(lines, line)
	}
	cmd.Wait() // killed, which is not an error here
	return lines
}

func TestNothingAcknowledgedIsLostOrRepeatedByTwoHundredKills(t *testing.T) {
	short.Skip(t, "two hundred processes are killed")
	const rounds = 200
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d rounds of kill -9, seed %d", rounds, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "events.db")

	published, handled := map[string]bool{}, map[string]bool{}
	run := func(id string, attempt string) {
		if handled[id] {
			t.Errorf("event %s was acknowledged as handled and ran again (attempt %s)", id, attempt)
		}
	}
	ran := map[string]bool{}
	killed := map[string]int{} // how often a handler was at work with the event when its process died
	between := 0               // how often none was
	for range rounds {
		running := ""
		for _, line := range child(t, "publisher", path, time.Duration(1+random.IntN(40))*time.Millisecond) {
			word, rest, _ := strings.Cut(line, " ")
			switch word {
			case "published":
				published[rest] = true
			case "handled":
				handled[rest] = true
			case "running":
				id, attempt, _ := strings.Cut(rest, " ")
				run(id, attempt)
				if attempt == "1" && ran[id] {
					t.Errorf("event %s ran again and was told it is attempt 1", id)
				}
				ran[id], running = true, id
			case "returning":
				running = ""
			}
		}
		if running != "" {
			killed[running]++
		} else {
			between++
		}
	}
	if len(published) < 100 || len(handled) == 0 {
		t.Fatalf("%d events were published and %d handled: the children hardly lived", len(published), len(handled))
	}
	t.Logf("%d events acknowledged, %d of them as handled", len(published), len(handled))

	f := SQLite.Reopen(t, path)
	f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		run(e.ID.String(), strconv.Itoa(e.Attempt))
		return nil
	}, runtime.WithRetry(retry.MaxAttempts(1000)))
	f.MustStart()
	f.Idle()
	f.Stop()
	for _, id := range strings.Fields(queryFile(t, path, "SELECT group_concat(id, ' ') FROM events WHERE status = 'done'")) {
		delete(published, id)
	}
	if len(published) > 0 {
		t.Errorf("%d acknowledged events are not stored and settled", len(published))
	}
	if got := queryFile(t, path, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check says %s", got)
	}
	checkCrashes(t, path, killed, between)
}

// checkCrashes compares the crashes on record with what the children have said. A
// process that has not said that a handler runs may have been about to call one, or
// about to note that it has returned. So it may count for one event, and for no more.
func checkCrashes(t *testing.T, path string, killed map[string]int, between int) {
	t.Helper()
	counted := 0
	for _, one := range strings.Fields(queryFile(t, path, `
		SELECT group_concat(id || '=' || n, ' ') FROM (
		  SELECT lower(hex(l.id)) AS id, count(*) AS n FROM busgen_attempts a JOIN busgen_log l ON l.seq = a.seq WHERE a.kind = 'crash' GROUP BY a.seq)`)) {
		id, n, _ := strings.Cut(one, "=")
		crashes, err := strconv.Atoi(n)
		Must(t, err)
		id = strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
		if crashes < killed[id] {
			t.Errorf("event %s has %d crashes, want %d", id, crashes, killed[id])
		}
		counted += crashes - killed[id]
		delete(killed, id)
	}
	t.Logf("%d of %d processes died between handlers and count for an event", counted, between)
	if counted > between {
		t.Errorf("%d crashes are on record of %d processes that died between two handlers", counted, between)
	}
	for id, n := range killed {
		t.Errorf("event %s has no crash on record, want %d", id, n)
	}
}

func TestAnEventThatKillsItsProcessEndsInTheDeadLettersAndTheOthersDoNot(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	path := filepath.Join(t.TempDir(), "events.db")
	f := SQLite.Reopen(t, path)
	for n := range 50 {
		order := OrderPlaced{OrderID: "innocent", Number: n}
		if n == 20 {
			order.OrderID = "poison"
		}
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, order)
		Must(t, err)
	}
	f.Stop()

	runs := map[string][]string{}
	lives := 0
	for finished := false; !finished && lives < 10; lives++ {
		for _, line := range child(t, "poisoned", path, 0) {
			if number, attempt, found := strings.Cut(strings.TrimPrefix(line, "running "), " "); found {
				runs[number] = append(runs[number], attempt)
			}
			finished = finished || line == "finished"
		}
	}
	if lives != 4 {
		t.Errorf("%d processes were needed, want three that die and one that finishes", lives)
	}
	if got := strings.Join(runs["20"], " "); got != "1 2 3" {
		t.Errorf("the poison ran as attempts %s, want 1 2 3", got)
	}
	inspector, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	if len(letters) != 1 || letters[0].Reason != "crash" || len(letters[0].Attempts) != 3 || letters[0].Attempts[0].Kind != "crash" {
		t.Errorf("the dead letters are %+v", letters)
	}
	if got := queryFile(t, path, "SELECT count(*) FROM events WHERE status = 'done'"); got != "49" {
		t.Errorf("%s innocent events are done, want 49", got)
	}
	if got := queryFile(t, path, "SELECT count(*) FROM busgen_attempts"); got != "3" {
		t.Errorf("%s attempts were charged, want the poison's 3", got)
	}
}

func TestAStandbyTakesOverWhenTheOwnerIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=owner", childFile+"="+path)
	stdout, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if scanner := bufio.NewScanner(stdout); !scanner.Scan() || scanner.Text() != "ready" {
		t.Fatal("the owner has not started")
	}

	alone := SQLite.Reopen(t, path)
	var owned *event.OwnedError
	if err := alone.Start(t.Context()); !errors.As(err, &owned) || owned.PID != cmd.Process.Pid {
		t.Errorf("a second process got %v, want the owner's pid %d", err, cmd.Process.Pid)
	}
	standby := SQLite.Reopen(t, path, runtime.WithStandby())
	var seen Journal[int]
	standby.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		seen.Add(e.Payload.Number)
		return nil
	})
	started := make(chan error)
	go func() { started <- standby.Start(t.Context()) }()
	alone.Publish(1)
	select {
	case err := <-started:
		t.Fatalf("the standby started beside the owner: %v", err)
	default:
	}
	Must(t, cmd.Process.Kill())
	Must(t, <-started)
	standby.Idle()
	if got := seen.All(); len(got) != 1 {
		t.Errorf("the standby handled %v, want the event", got)
	}
}
