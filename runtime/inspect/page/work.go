package page

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/inspect"
)

// work is the jobs that this process does or has done. A job outlives the request that
// started it. Close stops all jobs; what is left of them can be resumed.
type work struct {
	mu   sync.Mutex
	jobs map[uuid.UUID]*working
	busy sync.WaitGroup
}

// mostEnded is how many jobs that have ended are kept. The audit has the others.
const mostEnded = 100

// working is a job that is done here.
type working struct {
	order
	actor string
	stop  context.CancelFunc
	progress
}

// progress is how far a job of this process is.
type progress struct {
	Doing   bool
	Since   time.Time
	Counts  inspect.Counts // since then
	Waiting bool           // for the canary
	Stopped bool           // by an operator, or the end of the page
	Err     string         // why it has ended; empty without an error
}

// errDoing refuses to do a job twice at a time.
var errDoing = refusal{409, "This job is being done. Nothing was changed."}

// start does a job in the background and in the name of an actor. One that this process knows is not begun again.
func (p *Page) start(o order, actor string) error { return p.doJob(o, actor, 0, false) }

// goOn does what is left of a job.
func (p *Page) goOn(o order, actor string, moved int) error { return p.doJob(o, actor, moved, true) }

func (p *Page) doJob(o order, actor string, moved int, again bool) error {
	ctx, stop := context.WithCancel(p.closing)
	w := &working{order: o, actor: actor, stop: stop, progress: progress{Doing: true, Since: time.Now(), Waiting: o.Canary >= moved && o.Canary > 0}}
	if err := p.work.add(w, again); err != nil {
		stop()
		return err
	}
	as, err := p.file.As(ctx, actor)
	if err != nil {
		p.work.end(w, inspect.Counts{}, err)
		return err
	}
	go func() {
		defer stop()
		counts, err := w.do(ctx, as, moved, func(c inspect.Counts) { p.work.moved(w, c) })
		p.work.end(w, counts, errors.Join(err, as.Close()))
	}()
	return nil
}

// do changes the letters.
func (w *working) do(ctx context.Context, as *inspect.File, moved int, progress func(inspect.Counts)) (inspect.Counts, error) {
	s := w.selection(moved)
	s.Progress = progress
	if w.Kind == kindDiscard {
		return as.DiscardDeadLetters(ctx, s, w.Reason)
	}
	return as.Retry(ctx, s)
}

// add takes a job, unless it is being done or, but for again, was done.
func (k *work) add(w *working, again bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.jobs == nil {
		k.jobs = map[uuid.UUID]*working{}
	}
	if old := k.jobs[w.ID]; old != nil && (old.Doing || !again) {
		return errDoing
	}
	k.forget()
	k.jobs[w.ID] = w
	k.busy.Add(1)
	return nil
}

// forget drops the oldest job that has ended, if there are many.
func (k *work) forget() {
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

func (k *work) moved(w *working, c inspect.Counts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Counts = c
	w.Waiting = w.Waiting && c.Moved <= w.Canary
}

func (k *work) end(w *working, c inspect.Counts, err error) {
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

// halt stops a job, and reports whether it was being done.
func (k *work) halt(id uuid.UUID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.jobs[id]
	if w == nil || !w.Doing {
		return false
	}
	w.stop()
	return true
}

// addTo adds what this process knows to jobs of the audit, and its own jobs of which the
// audit has nothing yet.
func (k *work) addTo(known map[uuid.UUID]*job) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, w := range k.jobs {
		if known[id] == nil {
			known[id] = &job{order: w.order, Actor: w.actor, Begun: w.Since}
		}
		at := w.progress
		known[id].Work = &at
	}
}
