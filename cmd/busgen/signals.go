package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/busgen/busgen/internal/emit"
)

// grace is how long a verb has to say how far it was, when a signal ends it. Most verbs have nothing to
// say and are ended where they are.
const grace = 10 * time.Millisecond

// endOnSignal returns a context that ends when SIGINT, SIGTERM or SIGHUP comes, and ends the
// process a moment later, or at once if another signal comes. Signals that the process was started to ignore, as nohup
// does, stay ignored.
func endOnSignal() *ending {
	e := &ending{signals: make(chan os.Signal, 2)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(e.signals, s)
		}
	}
	go e.watch()
	return e
}

type ending struct {
	ctx     context.Context
	cancel  context.CancelFunc
	signals chan os.Signal
	by      atomic.Pointer[os.Signal] // the one that ends the process
}

func (e *ending) watch() {
	first := e.next()
	e.by.Store(&first)
	e.cancel()
	select {
	case <-e.signals:
	case <-time.After(grace):
	}
	die(first)
}

// next waits for a signal that is for busgen.
func (e *ending) next() os.Signal {
	for {
		s := <-e.signals
		if s != os.Interrupt || !interruptsLent.Load() {
			return s
		}
	}
}

// exit ends the process with a status. If a signal has kept the verb from its end, the process ends by
// the signal, so that a shell sees 128 + its number and stops its script.
func (e *ending) exit(status int) {
	if by := e.by.Load(); by != nil && status != 0 {
		die(*by)
	}
	os.Exit(status)
}

// die ends the process by a signal. Files that are taking their places do so first.
func die(s os.Signal) {
	emit.Abandon()
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(50 * time.Millisecond) // it comes at once, unless this is the first process of a container
	}
	number, _ := s.(syscall.Signal)
	os.Exit(128 + int(number))
}

// interruptsLent is set while Ctrl-C is for another program, such as an editor.
var interruptsLent atomic.Bool

// lendInterrupts leaves Ctrl-C to another program until they are taken back.
func lendInterrupts() (takeBack func()) {
	interruptsLent.Store(true)
	return func() { interruptsLent.Store(false) }
}
