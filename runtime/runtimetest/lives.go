package runtimetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// patience is how long a bus may take to shut down.
const patience = 10 * time.Second

// open puts a new bus on the disk.
func (k *Kit) open() {
	k.t.Helper()
	k.lives++
	k.log = newTestLog(k.t, k.lives)
	opts := []runtime.Option{
		runtime.WithLogger(k.log.logger()), runtime.WithRetention(runtime.Forever), runtime.WithoutSchedules(),
		testhook.WithIntercept(k.intercept).(runtime.Option), runtime.WithObserver(k.attempts.observer()),
	}
	if k.crashes != nil {
		opts = append(opts, testhook.WithStepPoint(k.crashes.point).(runtime.Option))
	}
	bus, err := runtime.Open(k.t.Context(), k.path, k.catalogue, append(opts, k.opts...)...)
	k.must("open the bus", err)
	k.Bus = bus
	for _, setup := range k.setups {
		k.must("Setup", setup(bus))
	}
}

// shutdown ends the bus in order.
func (k *Kit) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := k.Bus.Shutdown(ctx)
	k.Bus.Shutdown(context.Background()) // which waits until the first is through, also on a slow disk
	k.log.end()
	return err
}

// end shuts down what is left at the end of the test.
func (k *Kit) end() {
	k.t.Helper()
	k.broken.end()
	k.crashes.end()
	k.Disk.Heal()
	if k.Bus != nil {
		if err := k.shutdown(); err != nil {
			k.t.Errorf("runtimetest: shut down at the end of the test: %v", err)
		}
		if n := k.abandoned(); n > 0 {
			k.t.Errorf("runtimetest: %d handlers ignore the end of their context and are still running", n)
		}
	}
	k.Disk.remove()
	for _, unmet := range k.broken.unmet() {
		k.t.Errorf("runtimetest: %s", unmet)
	}
}

// abandoned counts the handlers that the bus no longer waits for.
func (k *Kit) abandoned() (n int64) {
	for _, s := range k.Bus.Stats().Subscriptions {
		n += s.Abandoned
	}
	return n
}

// Restart shuts the bus down in order, as a deploy does, and opens another one
// on the same file, which is not started. Handlers that run have ten seconds to
// return; then they are interrupted, and their events are delivered again.
func (k *Kit) Restart() {
	k.t.Helper()
	k.crashIfDue()
	if err := k.shutdown(); !errors.Is(err, context.DeadlineExceeded) {
		k.must("restart", err)
	}
	k.open()
}

// Crash ends the bus as kill -9 ends a process: nothing more is written, and running
// handlers are cut off. It opens another bus, which is not started, on everything that
// was written by then. That bus treats the handlers that were running as after any crash:
// if there was only one, it counts as an attempt. A bus that crashes within 10 seconds of its start is a crash loop:
// in the next life, deliveries that another crash would make dead letters wait for 10 seconds.
//
// A goroutine cannot be killed, so handlers of the old bus have their context cancelled,
// with the cause [runtime.ErrShutdown]. Nothing that they do after that reaches the file.
func (k *Kit) Crash() {
	k.t.Helper()
	k.die((*simfs.FS).Kill, true)
}

// PowerCut ends the machine: of what was not synced by then the disk has all,
// some or nothing, as the seed decides. Another bus is opened on what is left; it
// is not started. Handlers of the old bus are cut off as in [Kit.Crash].
//
// With [runtime.Full], which is the default, no event is lost whose Publish has returned
// nil. The newest successes of handlers may be forgotten, and so may the record of
// running handlers: their events are handled again.
func (k *Kit) PowerCut(seed uint64) {
	k.t.Helper()
	k.die(func(fs *simfs.FS) simfs.Image { return fs.Crash(seed) }, false)
}

// die ends the bus at once and opens another one on what is left: of the files in
// memory, and of the claims if the operating system lives on.
func (k *Kit) die(left func(*simfs.FS) simfs.Image, systemLives bool) {
	k.t.Helper()
	k.log.end()
	// The claims are read after the last change of the log, as a crash leaves them.
	k.Disk.fs.Cut()
	image := left(k.Disk.fs)
	claims, err := os.ReadFile(k.claims())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.must("crash", err)
	}
	if k.crashes.isDue() {
		k.crashes.end()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k.Bus.Shutdown(ctx)                  // its disk is gone, so it fails; but its goroutines end,
	k.Bus.Shutdown(context.Background()) // on a slow disk later than the call
	k.Disk.remove()
	if !systemLives {
		claims = nil // they are never synced
	}
	k.must("crash", os.WriteFile(k.claims(), claims, 0o600))
	k.Disk.insert(image)
	k.open()
}

// claims is the path of the file that says who dispatches, and which events are
// being handled. It is a real file.
func (k *Kit) claims() string { return k.path + "-claims" }
