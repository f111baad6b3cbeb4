package guard

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Logger returns a logger that recovers panics of the handler of l, and does not wait for one that blocks, such as
// on a full pipe. The bus logs from its own goroutines, where a panic would end the process, and from calls that
// have to return when their contexts end.
func Logger(l *slog.Logger) *slog.Logger {
	return slog.New(patient{handler{l.Handler()}, &sink{}})
}

// Handler returns a handler that recovers panics of h. Only the record is lost.
func Handler(h slog.Handler) slog.Handler { return handler{h} }

type handler struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { recover() }()
	return h.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	defer func() { recover() }()
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) (with slog.Handler) {
	with = h
	defer func() { recover() }()
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) (with slog.Handler) {
	with = h
	defer func() { recover() }()
	return handler{h.Handler.WithGroup(name)}
}

// missing is what stands for the lines that are lost.
const missing = "lines of the bus are missing here: the log handler had blocked for too long"

const (
	// Patience is how long a line, or other code of the program beside its handlers, is waited for.
	Patience = 100 * time.Millisecond
	// linesKept is how many lines wait behind one that blocks. Further lines are lost, and counted.
	linesKept = 1000
)

// patient is a handler that waits for each line, so that a line is written before what follows it happens, but for no
// longer than Patience. Lines after one that blocks wait in memory, in their order.
type patient struct {
	to   slog.Handler
	sink *sink // is that of all handlers that were made of the first
}

// sink is what the handlers of a logger have in common.
type sink struct {
	mu     sync.Mutex
	late   int    // lines that are still being written, without a caller that waits
	behind []line // wait for these
	lost   int
}

// call is a line that is being written.
type call struct {
	written chan struct{} // closed when it is
	left    bool          // its caller waits no more; guarded by the sink's mu
}

type line struct {
	to     slog.Handler
	ctx    context.Context
	record slog.Record
}

// Enabled implements [slog.Handler]. It does not ask a handler that blocks.
func (h patient) Enabled(ctx context.Context, level slog.Level) bool {
	h.sink.mu.Lock()
	blocks := h.sink.late > 0
	h.sink.mu.Unlock()
	if blocks {
		return level >= slog.LevelInfo
	}
	return h.to.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h patient) Handle(ctx context.Context, r slog.Record) error {
	if h.sink.keep(line{h.to, ctx, r}) {
		return nil
	}
	c := &call{written: make(chan struct{})}
	go func() {
		defer h.sink.written(c, h.to) // also if the handler ends the goroutine
		h.to.Handle(ctx, r)
	}()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-c.written:
	case <-timer.C:
		h.sink.leave(c)
	}
	return nil
}

// WithAttrs implements [slog.Handler].
func (h patient) WithAttrs(attrs []slog.Attr) slog.Handler {
	return patient{h.to.WithAttrs(attrs), h.sink}
}

// WithGroup implements [slog.Handler].
func (h patient) WithGroup(name string) slog.Handler {
	return patient{h.to.WithGroup(name), h.sink}
}

// keep takes a line that has to wait for others. It reports false if there are none.
func (s *sink) keep(l line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.late == 0:
		return false
	case len(s.behind) < linesKept:
		l.record = l.record.Clone()
		s.behind = append(s.behind, l)
	default:
		s.lost++
	}
	return true
}

// leave is called when a line is not waited for any more.
func (s *sink) leave(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c.written: // just now
	default:
		c.left = true
		s.late++
	}
}

// written is called when a line is written. After the last of those that blocked, the lines behind them follow.
func (s *sink) written(c *call, to slog.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(c.written)
	switch {
	case !c.left:
	case s.late > 1:
		s.late--
	default:
		go s.follow(to) // not here: the handler may have ended the goroutine
	}
}

// follow writes the lines that have waited, and says how many are lost. Those that come meanwhile wait, too.
func (s *sink) follow(to slog.Handler) {
	through := false
	defer func() {
		if !through { // a line has ended the goroutine
			go s.follow(to)
		}
	}()
	for {
		next, ok := s.next(to)
		if through = !ok; through {
			return
		}
		next.to.Handle(next.ctx, next.record)
	}
}

// next returns the next line that has waited, or one that says how many are lost. If there is none, no line blocks.
func (s *sink) next(to slog.Handler) (l line, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.behind) > 0:
		l, s.behind = s.behind[0], s.behind[1:]
	case s.lost > 0:
		record := slog.NewRecord(time.Now(), slog.LevelWarn, missing, 0)
		record.AddAttrs(slog.Int("lines", s.lost))
		l = line{to, context.Background(), record}
		s.lost = 0
	default:
		s.late--
		return line{}, false
	}
	return l, true
}
