package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Outbox makes a bus that only publishes, into a table of Postgres. The target of Open is a name for errors and logs:
//
//	bus, err := events.Open(ctx, "shop", postgres.Outbox(pool))
//
// Any number of processes may have one, and a bus with [Relay] brings the events on. Publish returns when the event is
// on the disk of the server, as its synchronous_commit says; what many goroutines publish is stored together. With [In]
// an event is stored with the rows of the program. A dedupe key is looked at when the event reaches the bus.
//
// Start, Subscribe, and whatever else reads return an error that matches [errors.ErrUnsupported], and so does
// publishing with [runtime.WithMaxPending].
//
// A publisher whose connection fails tries again for 15 s. Then its *[event.StorageError] is InDoubt if the event may
// be stored. A record that is sent twice is delivered once.
func Outbox(db DB, opts ...Option) runtime.Option {
	t, err := newTables(db, opts)
	if err == nil && (t.keep > 0 || t.listen != nil) {
		err = errors.New("postgres: KeepRelayed, and WithNotify with a connection, are options of Relay and not of Outbox")
	}
	if err != nil {
		return runtime.WithEngine(invalid{err})
	}
	return runtime.WithEngine(outboxEngine{t})
}

// invalid is the engine of a bus whose options are not valid.
type invalid struct{ err error }

// Open implements [engine.Engine].
func (i invalid) Open(context.Context, string, engine.Options) (engine.Log, error) { return nil, i.err }

// outboxEngine implements [engine.Engine].
type outboxEngine struct{ *tables }

// Open implements [engine.Engine].
func (e outboxEngine) Open(ctx context.Context, target string, _ engine.Options) (engine.Log, error) {
	if err := e.check(ctx); err != nil {
		return nil, storageError("open", target, err)
	}
	return &log{tables: e.tables, target: target, bell: newBell(e.tables)}, nil
}

// log is the outbox as a log to which events are only appended.
type log struct {
	only
	*tables
	target string
	bell   *bell

	mu      sync.Mutex
	waiting []*appending
	writing chan struct{} // closed when nothing waits any more; nil if nothing does
	closed  bool
}

// appending is what one caller of Append waits for.
type appending struct {
	records []engine.Record
	done    chan error
}

func (l *log) outbox() (*tables, *bell) { return l.tables, l.bell }

// Traits implements [engine.Log].
func (l *log) Traits() engine.Traits { return engine.Traits{Target: l.target} }

// Declare implements [engine.Registry]: the bus behind the outbox has the types.
func (l *log) Declare(context.Context, []engine.TypeSpec, []engine.ConsumerSpec) error { return nil }

// Recognise implements [engine.Appender]: the bus behind the outbox knows the keys.
func (l *log) Recognise(context.Context, []engine.Record) error { return nil }

// Append implements [engine.Appender]. One statement stores what several callers append meanwhile.
func (l *log) Append(ctx context.Context, records []engine.Record) error {
	if err := ctx.Err(); err != nil || len(records) == 0 {
		return err
	}
	one := &appending{records, make(chan error, 1)}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return engine.ErrClosed
	}
	l.waiting = append(l.waiting, one)
	if l.writing == nil {
		l.writing = make(chan struct{})
		go l.write()
	}
	l.mu.Unlock()
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, one)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i >= 0 {
		return ctx.Err()
	}
	return <-one.done
}

// How many events of several callers one statement has at most, and how many bytes.
const (
	groupEvents = 500
	groupBytes  = 4 << 20
)

// write stores what waits, until nothing does.
func (l *log) write() {
	for group := l.next(); len(group) > 0; group = l.next() {
		var all []engine.Record
		for _, one := range group {
			all = append(all, one.records...)
		}
		err := l.store(all)
		for _, one := range group {
			one.done <- err
		}
		l.bell.ring()
	}
}

func (l *log) next() (group []*appending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	events, bytes := 0, 0
	for _, one := range l.waiting {
		for i := range one.records {
			bytes += len(one.records[i].Payload)
		}
		if events += len(one.records); len(group) > 0 && (events > groupEvents || bytes > groupBytes) {
			break
		}
		group = append(group, one)
	}
	l.waiting = slices.Delete(l.waiting, 0, len(group))
	if len(group) == 0 {
		close(l.writing)
		l.writing = nil
	}
	return group
}

// How long publishers try, and how long one try takes at most.
const (
	patience = 15 * time.Second
	tryTime  = 5 * time.Second
)

// store adds events to the outbox. It may do so twice if an answer is lost: the bus knows them by their ids.
func (l *log) store(records []engine.Record) error {
	ctx, end := context.WithTimeout(context.Background(), patience)
	defer end()
	doubt := false
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		try, over := context.WithTimeout(ctx, tryTime)
		err := l.insert(try, l.db, records)
		over()
		if err == nil {
			return nil
		}
		state := sqlState(err)
		sent := !pgconn.SafeToRetry(err) && !errors.As(err, new(*pgconn.ConnectError))
		doubt = doubt || state == "" && sent || strings.HasPrefix(state, "57P")
		passes := state == "" || slices.Contains(passing, state[:2])
		if passes {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
			}
		}
		failed := storageError("publish into", l.target, err)
		failed.InDoubt = doubt
		return failed
	}
}

// passing are classes of errors that pass: connections, conflicts of transactions, resources, operators' work, and a
// server that others have taken over from.
var passing = []string{"08", "25", "40", "53", "57"}

// sqlState returns the code of an error of the server, or "" if it is none.
func sqlState(err error) string {
	if of, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok && len(of.SQLState()) == 5 {
		return of.SQLState()
	}
	return ""
}

// storageError says what has failed, and what to do.
func storageError(op, target string, err error) *event.StorageError {
	failed := &event.StorageError{Fault: event.IO, Op: op, Path: target, Err: err, Hint: strings.TrimPrefix(hintOf(err), ": ")}
	switch state := sqlState(err); {
	case errors.Is(err, errNewer):
		failed.Fault, failed.Hint = event.TooNew, "use a newer version of this program"
	case state == "":
		failed.Fault, failed.Hint = event.Unreachable, "check that Postgres runs, and that this program may connect to it"
	case state == "53100":
		failed.Fault = event.DiskFull
	case strings.HasPrefix(state, "25"), state == "42501":
		failed.Fault = event.ReadOnly
	case failed.Hint != "":
		failed.Fault = event.Foreign
	}
	return failed
}

// hintOf returns what to do about an error, or "".
func hintOf(err error) string {
	switch sqlState(err) {
	case "3F000", "42P01": // no such schema, no such table
		return ": make the tables of the outbox with postgres.Migrate, or with the statements of postgres.SQL"
	}
	return ""
}

// CloseWithin implements [engine.Log].
func (l *log) CloseWithin(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	writing := l.writing
	l.mu.Unlock()
	defer l.bell.stop()
	if writing == nil {
		return nil
	}
	select {
	case <-writing:
		return nil
	case <-ctx.Done():
		return storageError("close", l.target, ctx.Err())
	}
}
