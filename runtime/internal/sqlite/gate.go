package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// gate lets one write who is in this process: the writer, or one connection of the program.
// SQLite would see to that, too, but who waits for its lock asks again and again, and may never
// be lucky. Here the writer waits for one transaction of the program at most. While the program
// has no connections, nobody comes by.
type gate struct {
	path   string
	used   atomic.Bool         // the program has had a connection
	line   chan struct{}       // holds a token: the connection that has it is next
	pass   chan struct{}       // holds a token: whoever has it writes
	holder atomic.Uint64       // the goroutine of the program that has begun to write; 0 for none
	inside atomic.Pointer[run] // the function of the program that runs within the writer's transaction; nil for none
	by     writing

	entered bool // the writer has pass; under its turn

	// What the connections of the program leave to the writer.
	published atomic.Bool  // there are new events
	pages     atomic.Int64 // the write-ahead log has so many, and they have made it long; else 0
	doubtful  atomic.Bool  // the disk has failed one of them
}

// writing is who of the program writes, so that it can be named if it takes too long.
type writing struct {
	mu      sync.Mutex
	since   time.Time // zero if nobody does
	callers [maxCallers]uintptr
	depth   int
	told    bool // by the log
}

// maxCallers is how far a caller is looked for: behind database/sql and a library or two.
const maxCallers = 48

func (w *writing) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.told = time.Now(), false
	w.depth = runtime.Callers(3, w.callers[:])
}

func (w *writing) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Time{}
}

// patience is how long others wait for who writes, all in all. Who comes later waits for the rest of that.
func (w *writing) patience() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return database.BusyTimeout
	}
	return max(database.BusyTimeout-time.Since(w.since), leastPatience)
}

// leastPatience keeps those who try again and again from doing nothing else.
const leastPatience = 50 * time.Millisecond

// tooLong returns the line of the program that has begun what takes longer than others wait for it; "" if nothing does.
// With tell it also says whether the log has to name it.
func (w *writing) tooLong(tell bool) (line string, since time.Time, news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || time.Since(w.since) < database.BusyTimeout {
		return "", time.Time{}, false
	}
	news = tell && !w.told
	w.told = w.told || tell
	frames := runtime.CallersFrames(w.callers[:w.depth])
	for {
		frame, more := frames.Next()
		ours := strings.HasPrefix(frame.Function, "database/sql.") || strings.Contains(frame.Function, "busgen/runtime/internal/sqlite")
		if !ours || !more {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line), w.since, news
		}
	}
}

func (g *gate) open(path string) {
	g.path, g.line, g.pass = path, make(chan struct{}, 1), make(chan struct{}, 1)
	g.line <- struct{}{}
	g.pass <- struct{}{}
}

// enter waits until a connection of the program, on this goroutine, may write. Closing ending makes it return errEnding.
func (g *gate) enter(ctx context.Context, ending <-chan struct{}) error {
	timer := time.NewTimer(database.BusyTimeout)
	defer timer.Stop()
	wait := func(token chan struct{}) error {
		select {
		case <-token:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ending:
			return errEnding
		case <-timer.C:
			return g.errHeld()
		}
	}
	if err := wait(g.line); err != nil {
		return err
	}
	if err := wait(g.pass); err != nil {
		g.line <- struct{}{}
		return err
	}
	g.holder.Store(goroutine.Number())
	g.by.begin()
	return nil
}

// errEnding is the error of enter for a connection that is being closed.
var errEnding = errors.New("the connection is being closed")

func (g *gate) leave() {
	g.holder.Store(0)
	g.by.end()
	g.pass <- struct{}{}
	g.line <- struct{}{}
}

// errHeld says who writes for too long.
func (g *gate) errHeld() error {
	which := ""
	if line, since, _ := g.by.tooLong(false); line != "" {
		which = fmt.Sprintf(" begun by %s at %v,", line, since.UTC().Format(time.RFC3339))
	}
	return &event.StorageError{
		Fault: event.Busy, Op: "write", Path: g.path,
		Err: fmt.Errorf("a transaction of this program, of runtime.DB,%s has kept others from writing for more than %v (%w)",
			which, database.BusyTimeout, sqlite3.BUSY),
		Hint: "commit transactions soon or roll them back, and do not publish with the bus itself before that: use runtime.In",
	}
}

// admit waits until the writer may write.
func (g *gate) admit(logger *slog.Logger) error {
	timer := time.NewTimer(g.by.patience())
	defer timer.Stop()
	select {
	case <-g.pass:
		g.entered = true
		return nil
	case <-timer.C:
		if line, since, news := g.by.tooLong(true); news {
			logger.Error("a transaction of runtime.DB keeps all others from writing; nothing is stored before it is committed or rolled back",
				"begun_by", line, "since", since)
		}
		return g.errHeld()
	}
}

// tryAdmit is admit that waits for nothing.
func (g *gate) tryAdmit() bool {
	select {
	case <-g.pass:
		g.entered = true
	default:
	}
	return g.entered
}

// ended lets others write after a transaction of the writer.
func (g *gate) ended() {
	if g.entered {
		g.entered = false
		g.pass <- struct{}{}
	}
}

// within tells whether the goroutine that calls has begun a transaction that the writer would
// wait for.
func (g *gate) within() error {
	if holder := g.holder.Load(); holder != 0 && holder == goroutine.Number() {
		return errInOwn
	}
	return nil
}

// errInOwn is the error for who has begun a transaction of runtime.DB and writes beside it.
var errInOwn error = inOwn{errors.New("this goroutine has begun a transaction of runtime.DB that is still open, which the bus would wait for: " +
	"publish in it with runtime.In, or end it before")}

type inOwn struct{ error }

// Is makes the error match [engine.ErrInTx].
func (inOwn) Is(target error) bool { return target == engine.ErrInTx }
