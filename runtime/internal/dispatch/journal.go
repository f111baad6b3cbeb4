package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"unicode/utf8"

	"github.com/busgen/busgen/runtime/internal/guard"
)

const (
	// journalLimit bounds what is kept of the lines of one attempt, in bytes.
	journalLimit = 16 << 10
	// lineLimit bounds one of these lines, so that a long one does not replace all others.
	lineLimit = 4 << 10
	// journalLevel is the least level that is kept.
	journalLevel = slog.LevelDebug
)

// Logger returns the logger of the attempt. It is made at the first call. Its records go
// to the logger of the bus, and the end of what was logged is kept with the attempt if it
// fails.
func (a *Attempt) Logger() *slog.Logger {
	own := &a.extras().journal
	if made := own.Load(); made != nil {
		return made.logger
	}
	j := &journal{}
	kept := guard.Handler(slog.NewTextHandler(j, &slog.HandlerOptions{Level: journalLevel}))
	j.logger = slog.New(tee{to: a.run.site.cfg.Logger.With(a.logged()...).Handler(), kept: kept})
	if !own.CompareAndSwap(nil, j) {
		return own.Load().logger // of another goroutine of the handler
	}
	return j.logger
}

// closeJournal returns the lines that the attempt has logged. Nothing is kept after that.
func (a *Attempt) closeJournal() string {
	if x := a.extra.Load(); x != nil {
		if j := x.journal.Load(); j != nil {
			return j.close()
		}
	}
	return ""
}

// tee hands records to the logger of the bus and to the journal. The journal does not get
// the attributes that the bus adds: who reads it knows the attempt.
type tee struct{ to, kept slog.Handler }

// Enabled implements [slog.Handler].
func (h tee) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= journalLevel || h.to.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h tee) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= journalLevel {
		kept := r.Clone()
		kept.Time = kept.Time.UTC()
		h.kept.Handle(ctx, kept)
	}
	if h.to.Enabled(ctx, r.Level) {
		return h.to.Handle(ctx, r)
	}
	return nil
}

// WithAttrs implements [slog.Handler].
func (h tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tee{h.to.WithAttrs(attrs), h.kept.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h tee) WithGroup(name string) slog.Handler {
	return tee{h.to.WithGroup(name), h.kept.WithGroup(name)}
}

// journal keeps the last lines that were logged in an attempt.
type journal struct {
	logger *slog.Logger

	mu      sync.Mutex
	lines   [][]byte
	size    int // of lines, in bytes
	dropped int // lines
	closed  bool
}

// Write keeps one line. It implements [io.Writer] for a [slog.TextHandler], which calls it once
// for each record.
func (j *journal) Write(line []byte) (int, error) {
	n := len(line)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return n, nil
	}
	kept := shortened(line)
	j.lines, j.size = append(j.lines, kept), j.size+len(kept)
	// Room for the line that says how many are missing.
	for ; j.size > journalLimit-64; j.dropped++ {
		j.size -= len(j.lines[0])
		j.lines[0], j.lines = nil, j.lines[1:]
	}
	return n, nil
}

// shortened returns a copy of a line that is not too long.
func shortened(line []byte) []byte {
	if len(line) <= lineLimit {
		return append([]byte(nil), line...)
	}
	cut := lineLimit - 64
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return fmt.Appendf(append(make([]byte, 0, lineLimit), line[:cut]...), "… (%d bytes more)\n", len(line)-1-cut)
}

// close returns the lines, and keeps nothing from now on.
func (j *journal) close() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	text := make([]byte, 0, j.size+64)
	if j.dropped > 0 {
		text = fmt.Appendf(text, "(%d earlier lines were not kept)\n", j.dropped)
	}
	for _, line := range j.lines {
		text = append(text, line...)
	}
	j.lines, j.closed = nil, true
	return string(text)
}
