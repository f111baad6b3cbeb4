package sqlite

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
)

// A call in the function of a part would wait for the writer, which waits for the function. The context does not tell
// such a call from others: it is the program's. But the stack of its goroutine does, because the call of the function is
// on it. To look at a stack takes a microsecond or more, so no call does that when it begins to wait. When a function has
// taken long, and again while it goes on, the writer has those look that wait for it: see [writer.recheck].

// running are the functions of parts that run in this process, for all logs, also those whose time is up. A stack does
// not say to which of them a call belongs. So a function that does not begin alone has the number of its goroutine, which
// takes longer to find out than a statement: at most one of them has none.
var running struct {
	sync.Mutex
	runs []*run
}

// begins says that the function is about to run.
func (t *run) begins() {
	running.Lock()
	defer running.Unlock()
	if len(running.runs) > 0 {
		t.goroutine = goroutine.Number()
	}
	running.runs = append(running.runs, t)
}

// ends says that the function has returned, or panicked.
func (t *run) ends() {
	running.Lock()
	defer running.Unlock()
	i := slices.Index(running.runs, t)
	running.runs = slices.Delete(running.runs, i, i+1)
}

// isAround tells whether the calling goroutine is in the function. It is in so many functions: see [functionsAround].
func (t *run) isAround(n int) bool {
	if n == 0 {
		return false
	}
	number := goroutine.Number()
	running.Lock()
	defer running.Unlock()
	for _, other := range running.runs {
		if other.goroutine == number {
			n--
		}
	}
	return slices.Contains(running.runs, t) && (t.goroutine == number || t.goroutine == 0 && n > 0)
}

// functionsAround returns in how many functions of parts the calling goroutine is.
func functionsAround() (n int) {
	callers := make([]uintptr, 64)
	got := runtime.Callers(1, callers)
	for got == len(callers) {
		callers = make([]uintptr, 2*len(callers))
		got = runtime.Callers(1, callers)
	}
	frames := runtime.CallersFrames(callers[:got])
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); frame.Function == callName {
			n++
		}
	}
	return n
}

// callName is how a stack names what calls the function of a part.
var callName = runtime.FuncForPC(reflect.ValueOf((*relay).call).Pointer()).Name()

// errRecheck is what a caller gets instead of an outcome when it has to look whether it is in a function.
var errRecheck = errors.New("look at the stack")

// recheck has those look that wait while the function of a run takes long. They leave the queue, so that nothing is
// stored of a call in the function, and all others queue again. Who is in no function looks once.
func (w *writer) recheck(t *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = slices.DeleteFunc(w.queue, func(r *request) bool {
		if r.outside {
			return false
		}
		r.pending, r.beside = false, t
		r.result <- errRecheck
		return true
	})
}

// requeue queues a request again, unless its caller is in the function for which it waits.
func (w *writer) requeue(ctx context.Context, r *request) error {
	n := functionsAround()
	if r.outside = n == 0; !r.outside && r.beside.isAround(n) {
		return engine.ErrInTx
	}
	return w.enqueue(ctx, r)
}
