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
func (h *heldLog) look(a *agenda) time.Duration {
	const never = time.Hour
	if h.due(a) {
		a.writer.conn.TryEmpty()
		h.tried = time.Now()
	}
	size := a.writer.conn.WALHeld()
	switch {
	case size >= heldBytes && !h.said:
		h.said = true
		a.logger.Warn("readers keep the write-ahead log from being emptied; it grows until they end their transactions",
			"path", a.path+file.WALSuffix, "bytes", size, "readers", a.programs.readers())
	case size == 0 && h.said:
		h.said = false
		a.logger.Info("the write-ahead log is emptied again", "path", a.path+file.WALSuffix)
	}
	if size == 0 || a.owner.files.rescue != nil {
		return never
	}
	return heldDelay - time.Since(h.tried)
}

// due tells whether there is something to do now.
func (h *heldLog) due(a *agenda) bool {
	return a.owner.files.rescue == nil && (a.writer.conn.WALHeld() > 0 || h.said) && time.Since(h.tried) >= heldDelay
}

// readers names who reads the file in a transaction, as far as that can be known.
func (p *programs) readers() string {
	names := p.reading()
	known := len(names) > 0
	for _, u := range locks.Readers(p.path + file.IndexSuffix) {
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
