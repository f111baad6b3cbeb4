package runtimetest

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// Kit is a bus for one test, on its own disk in memory. Its methods are for the
// goroutine of the test, unless they say otherwise. A method without an error result
// ends the test if it fails.
type Kit struct {
	// Bus is for the program under test. [Kit.Restart], [Kit.Crash] and
	// [Kit.PowerCut] put another one here.
	Bus *runtime.Bus
	// Disk has switches for faults.
	Disk *Disk

	t         testing.TB
	path      string
	catalogue *runtime.Catalogue
	opts      []runtime.Option
	setups    []func(*runtime.Bus) error
	virtual   bool         // time is that of a bubble
	calls     atomic.Int64 // how often handlers were called, and have returned
	broken    *breakage
	crashes   *crashes // nil but in EveryStep
	attempts  attempts
	log       *testLog // of the bus at hand
	lives     int      // how many buses there were
}

// New returns a kit with a bus that is not started yet. Its events are never
// pruned, it publishes none of schedules ([WithSchedules]), and it logs to t; opts can say otherwise. The same opts are used when
// another bus takes its place. Generated packages for tests have a New that passes
// their catalogue.
//
// At the end of the test the bus is shut down. The test fails if a handler has to
// be interrupted for that, or if what [Kit.Break] has asked for did not happen.
func New(t testing.TB, catalogue *runtime.Catalogue, opts ...runtime.Option) *Kit {
	t.Helper()
	return newKit(t, catalogue, nil, opts)
}

func newKit(t testing.TB, catalogue *runtime.Catalogue, crashes *crashes, opts []runtime.Option) *Kit {
	t.Helper()
	dir := t.TempDir()
	k := &Kit{t: t, path: filepath.Join(dir, "events.db"), catalogue: catalogue, opts: opts, virtual: inBubble(), broken: newBreakage(), crashes: crashes}
	k.Disk = &Disk{kit: k, dir: dir}
	k.Disk.insert(nil)
	t.Cleanup(k.end)
	k.open()
	return k
}

// Run calls f with a kit in a bubble of virtual time (package [testing/synctest]), and
// with the t of that bubble. A goroutine that waits for a network makes the virtual time stand still: after 30 seconds
// Run ends the process and says which one it is.
func Run(t *testing.T, catalogue *runtime.Catalogue, f func(t *testing.T, k *Kit), opts ...runtime.Option) {
	t.Helper()
	run(t, catalogue, func() *crashes { return nil }, f, opts)
}

// run is Run with a kit that may be to crash.
func run(t *testing.T, catalogue *runtime.Catalogue, crashes func() *crashes, f func(t *testing.T, k *Kit), opts []runtime.Option) {
	t.Helper()
	watched(func(inBubble func()) {
		synctest.Test(t, func(t *testing.T) {
			inBubble()
			f(t, newKit(t, catalogue, crashes(), opts))
		})
	})
}

// Path returns the path of the file. The file is in memory, but code of this process can
// open it by this path: package inspect, and programs that open a bus themselves.
func (k *Kit) Path() string { return k.path }

// Setup calls f with the bus, and later with each bus that takes its place. f
// makes subscriptions, or the tables of the program; its error ends the test.
func (k *Kit) Setup(f func(bus *runtime.Bus) error) {
	k.t.Helper()
	k.setups = append(k.setups, f)
	k.must("Setup", f(k.Bus))
}

// Start starts the bus, unless it was started before. [Kit.Deliver], [Kit.Drain]
// and [Kit.Advance] do the same.
func (k *Kit) Start() {
	k.t.Helper()
	if err := k.Bus.Start(k.t.Context()); !errors.Is(err, runtime.ErrStarted) {
		k.must("start the bus", err)
	}
}

// Publish publishes payloads, each as an event of the type that has such
// payloads, and returns their receipts.
func (k *Kit) Publish(payloads ...runtime.Payload) []*runtime.Receipt {
	k.t.Helper()
	receipts := make([]*runtime.Receipt, len(payloads))
	for i, payload := range payloads {
		receipts[i] = k.publish(payload)
	}
	return receipts
}

func (k *Kit) publish(payload runtime.Payload) *runtime.Receipt {
	k.t.Helper()
	for _, t := range k.catalogue.Types() {
		receipt, err := testhook.Publish(k.t.Context(), k.Bus, t, payload)
		k.must("publish", err)
		if receipt != nil {
			return receipt.(*runtime.Receipt)
		}
	}
	k.t.Fatalf("runtimetest: publish: no event of the catalogue has a %T for its payload", payload)
	return nil
}

// PublishJSON stores an event without a check of its payload: one that an older version
// of the program has published, or one that cannot be decoded. version is the version of
// the payload: 1, unless the catalogue has another for the event.
func (k *Kit) PublishJSON(eventType string, version int, payload string) *runtime.Receipt {
	k.t.Helper()
	receipt, err := testhook.Append(k.t.Context(), k.Bus, eventType, version, []byte(payload))
	k.must("publish", err)
	return receipt.(*runtime.Receipt)
}

func (k *Kit) must(doing string, err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatalf("runtimetest: %s: %v", doing, err)
	}
}
