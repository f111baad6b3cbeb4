package inspect_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// erasingChild erases a person until it is killed, and says what retryingChild does.
func erasingChild(path string) {
	i, err := inspect.Open(context.Background(), path, inspect.WithActor("child"))
	if err == nil {
		erasing := ErasingZeb()
		erasing.Progress = func(n event.Erased) { moved(n.Events) }
		_, err = i.Erase(context.Background(), erasing)
	}
	if err != nil {
		say("trouble %v", err)
		os.Exit(3)
	}
	say("finished")
}

// bytesOf returns how often a name is in the file and those beside it, also in base64 as
// dead-letter notices have payloads, and in a copy of it.
func bytesOf(t *testing.T, path, name string) (found int) {
	t.Helper()
	paths := []string{path, path + "-wal", path + "-shm", path + "-claims"}
	backup := filepath.Join(t.TempDir(), "backup.db")
	queryRow(t, path, "VACUUM INTO '"+backup+"'")
	for _, p := range append(paths, backup) {
		content, err := os.ReadFile(p)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		found += bytes.Count(content, []byte(name))
	}
	return found
}

// Must show: after erase, a search of the bytes finds nothing of the person, while the bus of
// the same process runs and handles the events of others.
func TestNoByteOfAnErasedPersonIsLeft(t *testing.T) {
	short.Visit(t, "it fills files")
	path := SQLite.Target(t)
	bus, greeted := SQLite.LeaveTraces(t, path, 30)
	file := SQLite.Outside(t, path)
	if n := bytesOf(t, path, "zebediah"); n < 500 {
		t.Fatalf("there are %d traces only", n)
	}
	others := queryRow(t, path, "SELECT count(*) FROM busgen_attempts WHERE error LIKE '%ann@%'")
	before := len(greeted.All())
	n, err := file.Erase(t.Context(), ErasingZeb())
	if err != nil || n.Open != 0 || n.Mentions != 0 || !n.Clean || n.Events < 90 {
		t.Fatalf("%+v (%v)", n, err)
	}
	if n := bytesOf(t, path, "zebediah"); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	if got := queryRow(t, path, "SELECT count(*) FROM busgen_attempts WHERE error LIKE '%ann@%'"); got != others {
		t.Errorf("%s errors of others, want %s", got, others)
	}
	if problems, err := file.Check(t.Context(), nil); err != nil || len(problems.Problems) > 0 {
		t.Errorf("the file has %+v (%v)", problems, err)
	}
	_, err = file.Replay(t.Context(), "newsletter", inspect.Selection{Filter: event.Filter{Types: []string{"user.*"}}})
	Must(t, err)
	Must(t, bus.WaitIdle(t.Context()))
	if after := len(greeted.All()); after != 2*before {
		t.Errorf("%d are handled after a replay, want %d: what was erased can be decoded", after, 2*before)
	}
	Must(t, bus.Shutdown(context.Background()))
	if n := bytesOf(t, path, "zebediah"); n != 0 {
		t.Errorf("%d traces are left when the bus has ended", n)
	}
}

// The child is another process than that of the bus, which runs meanwhile.
func TestAnErasureThatIsKilledIsCompletedByTheNext(t *testing.T) {
	short.Skip(t, "processes are killed again and again")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	path := SQLite.Target(t)
	bus, _ := SQLite.LeaveTraces(t, path, 120)
	kills := 0
	for finished := false; !finished; {
		after := time.Duration(random.IntN(5_000)) * time.Microsecond
		if kills == 0 {
			after = 0 // between two steps
		}
		_, finished = runAndKill(t, "erasing", path, 1+random.IntN(3), after)
		if finished {
			break
		}
		kills++
		// Each event is erased with its attempts and keys, or not at all.
		if got := queryRow(t, path, `SELECT count(*) FROM busgen_log l JOIN busgen_attempts a ON a.seq = l.seq
			WHERE l.payload LIKE '%[erased]%' AND l.payload NOT LIKE '%zebediah%' AND a.error LIKE '%zebediah%'`); got != "0" {
			t.Fatalf("%s attempts of erased events still name the person", got)
		}
	}
	if kills == 0 {
		t.Error("no child was killed in time")
	}
	t.Logf("%d children were killed", kills)
	Must(t, bus.Shutdown(context.Background()))
	if n := bytesOf(t, path, "zebediah"); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	if got := queryRow(t, path, "SELECT count(*) FROM busgen_log WHERE payload LIKE '%ann@%'"); got < "120" || strings.HasPrefix(got, "0") {
		t.Errorf("%s events of others", got)
	}
}

// The file of a program that has died while a handler ran has a delivery that runs.
func TestWhatADeadProgramWasAtIsErased(t *testing.T) {
	path := SQLite.Target(t)
	copied := path + ".copy"
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		bus := SQLite.Greeting(t, path, func() { <-release })
		time.Sleep(time.Minute)
		queryRow(t, path, "VACUUM INTO '"+copied+"'")
		close(release)
		Must(t, bus.Shutdown(context.Background()))
	})
	if got := queryRow(t, copied, "SELECT state FROM busgen_deliveries"); got != "running" {
		t.Fatalf("the delivery is %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds := 0
	n, err := SQLite.Outside(t, copied).Erase(ctx, inspect.Erasure{Values: []string{Zeb}, CancelOpen: true, Progress: func(event.Erased) {
		if rounds++; rounds > 50 {
			cancel()
		}
	}})
	if err != nil || n.Events != 1 || n.Open != 0 {
		t.Errorf("erased %+v (%v)", n, err)
	}
}

// An operator writes what the erasure is not told of, and undoes or imports what was before.
func TestWhatWasEditedIsErasedAndDoesNotComeBack(t *testing.T) {
	short.Visit(t, "it fills files")
	path := SQLite.Target(t)
	SQLite.LeaveTraces(t, path, 2)
	file, err := inspect.Open(t.Context(), path, inspect.WithActor("ada"), inspect.WithEditing(func(string, int, []byte) error { return nil }))
	Must(t, err)
	defer file.Close()
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{Text: Zeb, Subscriptions: []string{"panicker"}}, event.Page{})
	Must(t, err)
	if _, err := file.Edit(t.Context(), letters[0].Key, []byte(`{"number":"c","email":"[hidden]","age":1,"plan":"","note":""}`)); !errors.As(err, new(*inspect.InvalidPayloadError)) {
		t.Errorf("editing a hidden value in: %v", err)
	}
	var exported bytes.Buffer
	Must(t, Second(file.Export(t.Context(), &exported, event.Filter{})))
	Must(t, Second(file.Edit(t.Context(), letters[0].Key, []byte(`{"number":"c","email":"alias@example.com","age":1,"plan":"","note":""}`))))
	dead := func() bool { // and the notice of it is handled
		if queryRow(t, path, "SELECT count(*) FROM busgen_deliveries d JOIN busgen_log l USING (seq) WHERE d.state = 'dead' AND l.payload LIKE '%alias@%'") != "1" {
			return false
		}
		look := ErasingZeb()
		look.DryRun = true
		n, err := file.Erase(t.Context(), look)
		Must(t, err)
		return n.Open == 0
	}
	for tries := 0; tries < 3000 && !dead(); tries++ {
		time.Sleep(20 * time.Millisecond)
	}
	n, err := file.Erase(t.Context(), ErasingZeb())
	if err != nil || n.Open != 0 || !n.Clean {
		t.Fatalf("%+v (%v)", n, err)
	}
	for _, name := range []string{"alias@example.com", base64.StdEncoding.EncodeToString([]byte(`{"number":"c","email":"alias@example.com"`))[:40]} {
		if n := bytesOf(t, path, name); n != 0 {
			t.Errorf("%s is left %d times", name, n)
		}
	}
	undone, err := file.Undiscard(t.Context(), event.Undo{Event: letters[1].EventID})
	if err != nil || undone.Dead != 0 || undone.Left == 0 {
		t.Errorf("undone %+v (%v)", undone, err)
	}
	if _, err = file.Import(t.Context(), &exported); err != nil {
		t.Errorf("importing what was erased since: %v", err)
	}
	if n := bytesOf(t, path, "zebediah"); n != 0 {
		t.Errorf("%d traces are back", n)
	}
}

func TestASchemaThatCannotBeReadStopsAnErasure(t *testing.T) {
	short.Visit(t, "it fills files")
	path := SQLite.Target(t)
	SQLite.LeaveTraces(t, path, 2)
	execute(t, path, `UPDATE busgen_schemas SET schema = '{"payload":{"a":"int128"}}'`)
	file := SQLite.Outside(t, path)
	erasing := ErasingZeb()
	if _, err := file.Erase(t.Context(), erasing); err == nil || !strings.Contains(err.Error(), "the schema of user.registered cannot be read") {
		t.Errorf("erasing by fields that are not known: %v", err)
	}
	erasing.Field = "email"
	if n, err := file.Erase(t.Context(), erasing); err != nil || n.Events == 0 {
		t.Errorf("by a field: %+v (%v)", n, err)
	}
}
