package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
)

// Work is the jobs that this process does or has done. A job outlives the request that
// started it. Close stops all jobs; what is left of them can be resumed.
type Work struct {
	mu   sync.Mutex
	jobs map[uuid.UUID]*working
	busy sync.WaitGroup
}

// mostEnded is how many jobs that have ended are kept. The audit has the others.
const mostEnded = 100

// working is a job that is done here.
type working struct {
	Order
	actor string
	stop  context.CancelFunc
	Progress
}

// Progress is how far a job of this process is.
type Progress struct {
	Doing   bool
	Since   time.Time
	Counts  inspect.Counts // since then
	Waiting bool           // for the canary
	Stopped bool           // by an operator, or the end of the page
	Err     string         // why it has ended; empty without an error
}

// ErrDoing refuses to do a job twice at a time.
var ErrDoing = refusal.New(409, "This job is being done. Nothing was changed.")

// Start does a job of a file in the background and in the name of an actor, until the context ends.
// One that this process knows is not begun again.
func (k *Work) Start(ctx context.Context, file *inspect.File, o Order, actor string) error {
	return k.begin(ctx, file, o, actor, 0, false)
}

// GoOn does what is left of a job that has changed so many letters.
func (k *Work) GoOn(ctx context.Context, file *inspect.File, o Order, actor string, moved int) error {
	return k.begin(ctx, file, o, actor, moved, true)
}

// Wait waits for all jobs to stop.
func (k *Work) Wait() { k.busy.Wait() }

func (k *Work) begin(ctx context.Context, file *inspect.File, o Order, actor string, moved int, again bool) error {
	ctx, stop := context.WithCancel(ctx)
	w := &working{Order: o, actor: actor, stop: stop}
	w.Progress = Progress{Doing: true, Since: time.Now(), Waiting: o.Canary >= moved && o.Canary > 0}
	if err := k.add(w, again); err != nil {
		stop()
		return err
	}
	as, err := file.As(ctx, actor)
	if err != nil {
		k.end(w, inspect.Counts{}, err)
		return err
	}
	go func() {
		defer stop()
		counts, err := w.do(ctx, as, moved, func(c inspect.Counts) { k.moved(w, c) })
		k.end(w, counts, errors.Join(err, as.Close()))
	}()
	return nil
}

// do changes the letters.
func (w *working) do(
	ctx context.Context, as *inspect.File, moved int, progress func(inspect.Counts),
) (inspect.Counts, error) {
	s := w.selection(moved)
	s.Progress = progress
	if w.Kind == Discard {
		return as.DiscardDeadLetters(ctx, s, w.Reason)
	}
	return as.Retry(ctx, s)
}

// add takes a job, unless it is being done or, but for again, was done.
func (k *Work) add(w *working, again bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.jobs == nil {
		k.jobs = map[uuid.UUID]*working{}
	}
	if old := k.jobs[w.ID]; old != nil && (old.Doing || !again) {
		return ErrDoing
	}
	k.forget()
	k.jobs[w.ID] = w
	k.busy.Add(1)
	return nil
}

// forget drops the oldest job that has ended, if there are many.
func (k *Work) forget() {
	var oldest *working
	for _, one := range k.jobs {
		if !one.Doing && (oldest == nil || one.ID.String() < oldest.ID.String()) {
			oldest = one
		}
	}
	if oldest != nil && len(k.jobs) >= mostEnded {
		delete(k.jobs, oldest.ID)
	}
}

func (k *Work) moved(w *working, c inspect.Counts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Counts = c
	w.Waiting = w.Waiting && c.Moved <= w.Canary
}

func (k *Work) end(w *working, c inspect.Counts, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Counts, w.Doing, w.Waiting = c, false, false
	switch {
	case errors.Is(err, context.Canceled):
		w.Stopped = true
	case err != nil:
		w.Err = err.Error()
	}
	k.busy.Done()
}

// Halt stops a job, and reports whether it was being done.
func (k *Work) Halt(id uuid.UUID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.jobs[id]
	if w == nil || !w.Doing {
		return false
	}
	w.stop()
	return true
}

// AddTo adds what this process knows to jobs of the audit, and its own jobs of which the
// audit has nothing yet.
func (k *Work) AddTo(known map[uuid.UUID]*Job) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, w := range k.jobs {
		if known[id] == nil {
			known[id] = &Job{Order: w.Order, Actor: w.actor, Begun: w.Since}
		}
		at := w.Progress
		known[id].Work = &at
	}
}

// State is what has become of all jobs here.
func (k *Work) State() (text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	moved, doing := 0, 0
	for _, w := range k.jobs {
		moved += w.Counts.Moved
		if w.Doing {
			doing++
		}
	}
	return fmt.Sprint(len(k.jobs), moved, doing)
}
