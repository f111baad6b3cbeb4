package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/busgen/busgen/internal/output"
)

// grace is how long a verb has to report how far it was after a signal. Most
// verbs have nothing to report, and end at once.
const grace = 10 * time.Millisecond

// EndOnSignal makes SIGINT, SIGTERM and SIGHUP end the context of the returned
// Process and, a moment later, the process. A second signal ends the process at
// once. Signals that the process was started to ignore, as nohup does, stay
// ignored.
func EndOnSignal() *Process {
	p := &Process{signals: make(chan os.Signal, 2)}
	p.Context, p.cancel = context.WithCancel(context.Background())
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(p.signals, s)
		}
	}
	go p.watch()
	return p
}

// Process is this process, which a signal may end.
type Process struct {
	Context context.Context // of the verb
	cancel  context.CancelFunc
	signals chan os.Signal
	by      atomic.Pointer[os.Signal] // the one that ends the process
}

func (p *Process) watch() {
	first := p.next()
	p.by.Store(&first)
	p.cancel()
	select {
	case <-p.signals:
	case <-time.After(grace):
	}
	die(first)
}

// next waits for a signal to busgen. Ctrl-C may be meant for another program.
func (p *Process) next() os.Signal {
	for {
		s := <-p.signals
		if s != os.Interrupt || !interruptsLent.Load() {
			return s
		}
	}
}

// Exit ends the process with a status. If a signal has interrupted the verb, the
// process ends by that signal, so that a shell sees 128 + its number and stops
// its script.
func (p *Process) Exit(status int) {
	if by := p.by.Load(); by != nil && status != 0 {
		die(*by)
	}
	os.Exit(status)
}

// die ends the process by a signal, after files that are being replaced have
// taken their places.
func die(s os.Signal) {
	output.Abandon()
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(50 * time.Millisecond) // it comes at once, unless this is the first process of a container
	}
	number, _ := s.(syscall.Signal)
	os.Exit(128 + int(number))
}

// interruptsLent is set while Ctrl-C belongs to another program, such as an editor.
var interruptsLent atomic.Bool

// LendInterrupts leaves Ctrl-C to another program, such as an editor, until
// takeBack is called.
func LendInterrupts() (takeBack func()) {
	interruptsLent.Store(true)
	return func() { interruptsLent.Store(false) }
}
