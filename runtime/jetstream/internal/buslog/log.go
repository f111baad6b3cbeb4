package buslog

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Log is an open log. It implements [engine.Log].
type Log struct {
	stream    *stream.Stream
	target    string
	options   engine.Options
	logger    *slog.Logger
	instance  string // the name of this process, as an owner
	host      string
	stopped   chan struct{} // closed by Close, or when the log is broken
	broken    atomic.Pointer[event.StorageError]
	writing   engine.WriteFault
	missing   chan struct{} // there may be subscriptions to take over
	beginning chan struct{} // holds a token while the log begins to follow events
	claiming  chan struct{} // holds a token while subscriptions are taken over
	saying    chan struct{} // holds a token while this process says what it calls of suspects
	changing  chan struct{} // holds a token while records are changed, see turns.go
	foreign   atomic.Int64  // the last message among the events that is none, and of which the logger knows

	telling  sync.Mutex // held while watchers are called; taken before mu
	paused   []engine.Pause
	watchers []func([]engine.Pause)
	asked    func([]engine.BreakerRequest)

	pruning  pruning
	expected expected
	itself   itself
	leader   leader
	ahead    ahead
	joined   joined
	inbox    inbox

	// Publishers ask these without mu.
	types   atomic.Pointer[map[typenames.Key]bool] // that are known
	limited atomic.Bool                            // the size of the stream is
	born    atomic.Int64                           // when this process began to dispatch; 0 for not yet
	looping atomic.Bool                            // the last takeover has found a crash loop
	looking atomic.Bool                            // it looks at its records soon
	come    atomic.Int64                           // as received, for who waits for it
	stored  atomic.Int64                           // the newest message that this process knows to be stored
	// followsAll says that the log follows events, see following.go.
	followsAll atomic.Bool

	mu          sync.Mutex
	following   following
	clock       clock
	whole       wholeRows
	allRows     bool              // all rows are whole
	bare        []bareRow         // those that lack their events
	logView                       // what the stream says, up to a message
	calling     []*flight         // see called.go
	alone       bool              // this process has said that nothing but what it calls of suspects runs
	own         map[string]string // names of this process's catalogue, by these and their aliases
	versions    map[string]int    // of the types of the catalogue, if it is not 1, by the same
	here        map[string]string // what this process calls types, by the names under which events were published
	units       map[string]*unit  // the subscriptions that this process handles, by id
	watches     map[*watch]struct{}
	dispatching bool             // TakeOver was called
	contending  bool             // it was done
	leaving     bool             // Close was called
	dead        map[string]bool  // processes that do not answer; those that come back are not among them
	leftovers   []leftover       // see tidy.go
	rowLook     time.Time        // see deleted.go
	tidying     bool             // somebody is at them
	unsure      map[string]bool  // of these, whether nobody knows that they have ended
	idle        map[string]bool  // of these, whether they answer, and have not ended
	hiding      map[string]int64 // messages that are none of the bus, by subject
	closed      bool
	verifying   bool
	reaching    []reaching    // who waits for a message, in the order of these
	settled     chan struct{} // closed when deliveries are settled; nil while nobody waits
	claimed     struct {      // of all units, see claims.go
		window time.Time
		exact  int
	}
	entries     int64 // of the audit, in the batch that is being made
	pausesNew   bool  // the registry has changed since the watchers were told
	requestsNew bool
}

var _ engine.Log = (*Log)(nil)

// Open opens the log of a stream, for a bus.
func Open(ctx context.Context, s *stream.Stream, target string, options engine.Options) (*Log, error) {
	return open(ctx, s, target, options, false)
}

// open is Open; allRows says that all rows are whole.
func open(ctx context.Context, s *stream.Stream, target string, options engine.Options, allRows bool) (*Log, error) {
	l := &Log{
		stream: s, target: target, options: options, logger: options.Logger, instance: nuid.Next(),
		stopped: make(chan struct{}), missing: make(chan struct{}, 1), claiming: make(chan struct{}, 1), saying: make(chan struct{}, 1), changing: make(chan struct{}, 1), beginning: make(chan struct{}, 1), dead: map[string]bool{}, unsure: map[string]bool{}, idle: map[string]bool{}, own: map[string]string{}, versions: map[string]int{}, units: map[string]*unit{}, watches: map[*watch]struct{}{},
	}
	l.types.Store(&map[typenames.Key]bool{})
	l.newClock(options.Wall)
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
	l.host, _ = os.Hostname()
	l.allRows = allRows
	s.OnRenewal(l.renewed)
	l.logView.subs = map[string]*sub{}
	l.logView.seen = map[string]int64{}
	l.logView.audit = map[int64]event.AuditEntry{}
	l.logView.schemas = map[string]schema{}
	for began := time.Now(); ; {
		err := l.load(ctx, false)
		if err == nil {
			break
		}
		if !l.waits(ctx, began, err) {
			return nil, l.storage("open", err)
		}
	}
	if err := s.Answer(l.pingSubject(l.instance), l.answerPing); err != nil {
		l.stopFollowing()
		return nil, l.storage("open", err)
	}
	if l.registry.Log == uuid.Nil {
		err := l.change(ctx, func(r *registry) error {
			if r.Log == uuid.Nil {
				r.Log = uuid.New()
			}
			return nil
		})
		if err != nil {
			l.stopFollowing()
			return nil, err
		}
	}
	return l, nil
}

// enter locks the log, unless it is closed.
func (l *Log) enter() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return l.ended()
	}
	return nil
}

// Traits implements [engine.Log].
func (l *Log) Traits() engine.Traits {
	payload, metadata := l.sizes()
	return engine.Traits{Target: l.target, StoresKeys: true, MaxPayload: payload, MaxMetadata: metadata}
}

// closeTime is how long Close waits for the server.
const closeTime = 5 * time.Second

// Close implements [engine.Inspection].
func (l *Log) Close() error { return l.CloseWithin(context.Background()) }

// CloseWithin implements [engine.Log]. The subscriptions of this process are free for others.
func (l *Log) CloseWithin(ctx context.Context) error {
	if l.enter() != nil { // a second time, or it is broken
		l.stopFollowing()
		l.stream.Close()
		return nil
	}
	l.leaving = true
	units := make([]*unit, 0, len(l.units))
	for _, u := range l.units {
		units = append(units, u)
		if u.consumer != nil {
			u.consumer.end()
		}
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	var all []error
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, u := range units {
		wait.Go(func() {
			if err := u.release(ctx); err != nil {
				mu.Lock()
				all = append(all, err)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	l.mu.Lock()
	dispatching := l.dispatching
	l.mu.Unlock()
	if dispatching {
		all = append(all, l.join(ctx), l.hide(ctx))
	}
	l.mu.Lock()
	l.closed = true
	close(l.stopped)
	l.wakeAll()
	l.mu.Unlock()
	l.stopFollowing()
	l.stream.Close()
	return l.storage("close", errors.Join(all...))
}

// storage makes an error of the server one of the engine. Errors of the engine, and of
// contexts, stay as they are.
func (l *Log) storage(op string, err error) error {
	var stored *event.StorageError
	var foreign *stream.ForeignError
	switch fault, hint, known := Refusal(err, l.stream.Name()); {
	case err == nil, errors.As(err, &stored), errors.Is(err, engine.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, stream.ErrInDoubt):
		return err
	case l.isClosed():
		return l.ended()
	case errors.As(err, &foreign):
		return &event.StorageError{Fault: event.Foreign, Op: op, Path: l.target, Err: err}
	case known:
		return &event.StorageError{Fault: fault, Op: op, Path: l.target, Err: err, Hint: hint, InDoubt: errors.Is(err, stream.ErrInDoubt)}
	}
	return &event.StorageError{Fault: event.Unreachable, Op: op, Path: l.target, Err: err, InDoubt: errors.Is(err, stream.ErrInDoubt)}
}

func (l *Log) isClosed() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

// wakeAll wakes everybody who waits. The caller holds mu.
func (l *Log) wakeAll() {
	l.noteSettled()
	for w := range l.watches {
		w.wake()
	}
}

// unknown is the error for a name that no subscription has.
func (r *registry) unknown(name string) error {
	missing := &event.NotFoundError{Thing: "subscription", Name: name}
	for _, s := range r.Subs {
		missing.Known = append(missing.Known, s.Name)
	}
	return missing
}
