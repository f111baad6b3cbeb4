package sqlite

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// heldLog is about a write-ahead log that readers keep from being emptied: it tries again while nothing is written,
// and says who they are.
type heldLog struct {
	tried time.Time
	said  bool
}

// heldDelay is how often it is tried.
const heldDelay = time.Second

// heldBytes is from which length of the write-ahead log on it is logged. Tests make it small.
var heldBytes int64 = 64 << 20

// look does what is to be done now, and returns how long it is until the next look.
func (h *heldLog) look(w *writer) time.Duration {
	const never = time.Hour
	if h.due(w) {
		w.conn.TryEmpty()
		h.tried = time.Now()
	}
	size := w.conn.WALHeld()
	switch {
	case size >= heldBytes && !h.said:
		h.said = true
		w.logger.Warn("readers keep the write-ahead log from being emptied; it grows until they end their transactions",
			"path", w.log.path+file.WALSuffix, "bytes", size, "readers", w.log.readers())
	case size == 0 && h.said:
		h.said = false
		w.logger.Info("the write-ahead log is emptied again", "path", w.log.path+file.WALSuffix)
	}
	if size == 0 || w.rescue != nil {
		return never
	}
	return heldDelay - time.Since(h.tried)
}

// due tells whether there is something to do now.
func (h *heldLog) due(w *writer) bool {
	return w.rescue == nil && (w.conn.WALHeld() > 0 || h.said) && time.Since(h.tried) >= heldDelay
}

// readers names who reads the file in a transaction, as far as that can be known.
func (l *Log) readers() string {
	names := l.programs.reading()
	known := len(names) > 0
	for _, u := range locks.Readers(l.path + file.IndexSuffix) {
		if u.PID != os.Getpid() || !known {
			names = append(names, u.String())
		}
	}
	if len(names) == 0 {
		return "not known"
	}
	return strings.Join(names, ", ")
}

// reading names the connections of the program that read.
func (p *programs) reading() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		switch since, reads := c.ReadsSince(); {
		case !reads:
		case since.IsZero():
			names = append(names, "rows of runtime.DB in this process that are not closed")
		default:
			names = append(names, fmt.Sprintf("a transaction of runtime.DB in this process, begun %v ago", time.Since(since).Round(time.Millisecond)))
		}
	}
	return names
}
