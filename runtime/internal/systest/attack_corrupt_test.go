package systest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	damageSeed   = flag.Uint64("damage.seed", 0, "damage a file with this seed only")
	damageRounds = short.Flag("damage.rounds", 80, 8, "how many damaged files are tried")
)

// TestADamagedFileIsReportedAndNothingElseHappens damages one good file in
// many ways, each from a seed: bits of every kind of page are flipped, parts and
// whole pages are zeroed, overwritten or exchanged, the file is cut. Then a bus
// opens it, publishes, handles and inspects it for ten minutes of virtual time.
// Whatever the damage touches has to return a *StorageError; what it does not
// touch works. Nothing panics, hangs, tries again without a pause or floods the
// log, and a file that is refused is left as it is.
func TestADamagedFileIsReportedAndNothingElseHappens(t *testing.T) {
	good := makeGoodFile(t)
	seeds := make([]uint64, damageRounds.N())
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	if *damageSeed != 0 {
		seeds = []uint64{*damageSeed}
	}
	outcomes := map[string]int{}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDamage(t, good, seed)
				d.live()
				outcomes[d.kind+": "+d.outcome]++
			})
		})
		if t.Failed() {
			t.Fatalf("see it again with -run %s -damage.seed %d", t.Name(), seed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%3d %s", outcomes[name], name)
	}
}

// makeGoodFile returns a file with a bit of everything in it: events that are
// settled, pruned, waiting for a retry, dead, delayed, and unread by a
// subscription that nobody handles.
func makeGoodFile(t *testing.T) (content []byte) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t, runtime.WithRetention(10*time.Minute), runtime.WithDurability(runtime.Normal))
		f.Handle("worker", handleSome, runtime.WithRetry(retry.MaxAttempts(2), retry.BaseDelay(10*time.Minute), retry.MaxDelay(time.Hour)))
		f.MustStart()
		f.Publish(Numbers(1, 100)...)
		for n := range 40 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strings.Repeat("x", 9000), Number: 1001 + n%9})
			Must(t, err)
		}
		time.Sleep(20 * time.Minute) // one in ten is dead by now, the others pruned
		Must(t, f.Handle("behind", handleSome).Unsubscribe(t.Context()))
		f.Publish(Numbers(301, 600)...)
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strings.Repeat("x", 9000), Number: 601})
		Must(t, err)
		for n := range 10 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "B", Number: n},
				runtime.WithDelay(time.Duration(n)*time.Hour), runtime.WithDedupeKey(fmt.Sprint(n)))
			Must(t, err)
		}
		time.Sleep(time.Second)
		f.Stop()
		content, err = os.ReadFile(f.Path)
		Must(t, err)
	})
	return content
}

func handleSome(_ context.Context, e runtime.Event[OrderPlaced]) error {
	if e.Payload.Number%10 == 0 {
		return ErrBoom
	}
	return nil
}

// damage is a damaged file and what becomes of it.
type damage struct {
	*testing.T
	*rand.Rand
	path    string
	content []byte // as damaged
	kind    string // of page that was damaged
	what    string
	outcome string // of the first thing that failed
}

func newDamage(t *testing.T, good []byte, seed uint64) *damage {
	d := &damage{
		T: t, Rand: rand.New(rand.NewPCG(seed, 7)), path: filepath.Join(t.TempDir(), "events.db"),
		content: slices.Clone(good), outcome: untouched,
	}
	kinds := pagesByKind(good)
	names := slices.Sorted(maps.Keys(kinds))
	d.kind = names[d.IntN(len(names))]
	pages := kinds[d.kind]
	d.harm(pages[d.IntN(len(pages))])
	Must(t, os.WriteFile(d.path, d.content, 0o600))
	return d
}

const (
	pageSize  = 4096
	untouched = "nothing has failed"
)

// pagesByKind tells the pages of a database apart.
func pagesByKind(content []byte) map[string][]int {
	free := map[int]bool{}
	for trunk := binary.BigEndian.Uint32(content[32:]); trunk != 0; {
		page := content[(trunk-1)*pageSize:]
		free[int(trunk)] = true
		for n := range binary.BigEndian.Uint32(page[4:]) {
			free[int(binary.BigEndian.Uint32(page[8+4*n:]))] = true
		}
		trunk = binary.BigEndian.Uint32(page)
	}
	kinds := map[string][]int{"the header": {0}, "the schema": {1}}
	for n := 2; n <= len(content)/pageSize; n++ {
		kind := map[byte]string{
			2: "the inside of an index", 5: "the inside of a table", 10: "a leaf of an index", 13: "a leaf of a table",
		}[content[(n-1)*pageSize]]
		switch {
		case free[n]:
			kind = "a free page"
		case n == 2:
			kind = "the map of pages" // of auto_vacuum
		case kind == "":
			kind = "an overflow page"
		}
		kinds[kind] = append(kinds[kind], n)
	}
	return kinds
}

// harm damages a page, or the header, which is page 0.
func (d *damage) harm(number int) {
	page := d.content[max(number-1, 0)*pageSize:][:pageSize]
	if number == 0 {
		page = page[:100]
	} else if number == 1 {
		page = page[100:]
	}
	switch n := d.IntN(7); n {
	case 0, 1:
		d.what = "bits flipped"
		for range 1 + d.IntN(8) {
			page[d.IntN(len(page))] ^= 1 << d.IntN(8)
		}
	case 2:
		d.what = "bits of the page's header flipped"
		for range 1 + d.IntN(2) {
			page[d.IntN(12)] ^= 1 << d.IntN(8)
		}
	case 3:
		d.what = "a part zeroed"
		clear(page[d.IntN(len(page)):][:])
	case 4:
		d.what = "zeroed"
		clear(page)
	case 5:
		d.what = "overwritten"
		for i := range page {
			page[i] = byte(d.Uint32())
		}
	case 6:
		if number < 2 {
			d.what = "the file is cut"
			d.content = d.content[:d.IntN(len(d.content))]
			break
		}
		d.what = "exchanged with another"
		other := d.content[(1+d.IntN(len(d.content)/pageSize-1))*pageSize:][:pageSize]
		swap := slices.Clone(page)
		copy(page, other)
		copy(other, swap)
	}
	d.Logf("page %d, %s: %s", number, d.kind, d.what)
}

// judge checks an error.
func (d *damage) judge(doing string, err error) {
	d.Helper()
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	d.Logf("%s: %v", doing, err)
	var storage *event.StorageError
	if !errors.As(err, &storage) {
		d.Errorf("%s returned an error that says nothing: %v", doing, err)
		return
	}
	if storage.Hint == "" || storage.Path != d.path {
		d.Errorf("%s returned an error without a hint or with the wrong file: %v", doing, err)
	}
	fits := storage.Fault == event.Corrupt
	if d.kind == "the header" || d.kind == "the schema" {
		// It may look like something else altogether.
		fits = fits || storage.Fault == event.Foreign || storage.Fault == event.TooNew || storage.Fault == event.ReadOnly
	}
	if !fits {
		d.Errorf("%s returned a fault %q: %v", doing, storage.Fault, err)
	}
	d.saw(fmt.Sprintf("%s says %q", doing, storage.Fault))
}

// saw notes how the damage has shown itself first.
func (d *damage) saw(outcome string) {
	if d.outcome == untouched {
		d.outcome = outcome
	}
}

// live uses the file as a service and its operator do.
func (d *damage) live() {
	d.inspect()
	before := must1(os.ReadFile(d.path))
	lines := &LogLines{}
	bus, err := runtime.Open(d.Context(), d.path, Catalogue, runtime.WithDurability(runtime.Normal), runtime.WithLogger(slog.New(slog.NewJSONHandler(lines, nil))))
	d.judge("open", err)
	if err != nil {
		if after := must1(os.ReadFile(d.path)); !bytes.Equal(after, before) {
			d.Error("the file was refused, and is changed")
		}
		return
	}
	handled := map[string]*Journal[int]{}
	for _, name := range []string{"worker", "behind", "new"} {
		seen := &Journal[int]{}
		handled[name] = seen
		_, err := runtime.Subscribe(bus, PlacedType, name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.OrderID == "published to a damaged file" && !slices.Contains(seen.All(), e.Payload.Number) {
				seen.Add(e.Payload.Number)
			}
			return handleSome(ctx, e)
		})
		d.judge("subscribe", err)
	}
	d.judge("start", bus.Start(d.Context()))
	for n := range 20 {
		_, err := runtime.Publish(d.Context(), bus, PlacedType, OrderPlaced{OrderID: "published to a damaged file", Number: n}, runtime.WithDedupeKey(fmt.Sprint("new ", n)))
		d.judge("publish", err)
	}
	d.wait()
	d.inspect()
	ctx, cancel := context.WithTimeout(d.Context(), time.Minute)
	defer cancel()
	d.judge("wait", bus.WaitIdle(ctx))
	_, err = bus.Compact(d.Context())
	d.judge("compact", err)
	d.judge("shut down", bus.Shutdown(d.Context()))
	logged := 0
	for _, line := range lines.Level(d.T, "ERROR") {
		if line["msg"] != "event is dead-lettered" {
			d.Logf("logged: %v", line)
			d.saw(fmt.Sprintf("logged: %v", line["msg"]))
			logged++
		}
	}
	if logged > 10 {
		d.Errorf("%d errors were logged in ten minutes", logged)
	}
	if d.outcome == untouched {
		for name, seen := range handled {
			if got := seen.All(); !slices.Equal(got, Numbers(0, 19)) {
				d.Errorf("%s returned nothing and handled %v", name, got)
			}
		}
	}
}

// wait lets ten minutes pass. What is done meanwhile shows in the memory that
// was asked for, which, unlike time, is nearly the same on every machine.
func (d *damage) wait() {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	time.Sleep(10 * time.Minute)
	goruntime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 500_000 { // idle: 3000; three subscriptions that try again every second: 160 000
		d.Errorf("%d allocations in ten minutes: something tries again without a pause", n)
	}
}

// inspect uses the file as an operator does.
func (d *damage) inspect() {
	i, err := inspect.Open(d.Context(), d.path)
	d.judge("open for inspection", err)
	if err != nil {
		return
	}
	letters, _, err := i.DeadLetters(d.Context(), event.Filter{}, event.Page{})
	d.judge("list dead letters", err)
	if len(letters) > 0 {
		_, err := i.Retry(d.Context(), inspect.Only(letters[0].Key))
		d.judge("retry a dead letter", err)
	}
	d.judge("close after inspection", i.Close())
}

// A number that was damaged may be any number, and so may the next one be after
// years of pruning with one dead letter at the beginning.
func TestALogWithAGapOfAnySizeIsPrunedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Publish(Numbers(1, 10)...)
		f.Stop()
		Must(t, execFile(f.Path, "PRAGMA foreign_keys=0; UPDATE busgen_log SET seq = 1000000000000000 WHERE seq = 10"))
		f = SQLite.Reopen(t, f.Path, runtime.WithRetention(time.Minute))
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		f.MustStart()
		f.Publish(11)
		time.Sleep(3 * time.Minute)
		if got := queryFile(t, f.Path, "SELECT count(*) FROM busgen_log"); got != "1" {
			t.Errorf("%s events are left, want the newest", got)
		}
	})
}

// SQLite does not call these files damaged. It complains about our statements.
func TestAFileThatContradictsItselfIsCorrupt(t *testing.T) {
	for name, statements := range map[string]string{
		"the type of an event is missing": "PRAGMA foreign_keys=0; DELETE FROM busgen_types",
		"an index is missing":             "DROP INDEX busgen_deliveries_open",
	} {
		t.Run(name, func(t *testing.T) {
			f := SQLite.Open(t)
			f.Handle("reader", handleSome)
			f.Publish(1)
			f.Stop()
			Must(t, execFile(f.Path, statements))
			bus, err := runtime.Open(t.Context(), f.Path, Catalogue)
			if err == nil {
				_, err = runtime.Subscribe(bus, PlacedType, "reader", handleSome)
				if err = errors.Join(err, bus.Start(t.Context())); err == nil {
					err = bus.WaitIdle(t.Context()) // which waits for a start
				}
				err = errors.Join(err, bus.Shutdown(t.Context()))
			}
			var storage *event.StorageError
			if !errors.As(err, &storage) || storage.Fault != event.Corrupt || storage.Hint == "" {
				t.Errorf("got %v, want a fault %q with a hint", err, event.Corrupt)
			}
		})
	}
}
