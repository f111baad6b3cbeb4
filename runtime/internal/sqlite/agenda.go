package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// agenda is what happens in the transactions of the writer: it puts together those who have a say in them. It is the
// [content] of the writer.
type agenda struct {
	*ground
	writer    *writer
	consumers *consumers
	lookout   *lookout
	owner     *owner
	relay     *relay
	programs  *programs
	held      heldLog
}

func (a *agenda) look() time.Duration {
	if pages := a.gate.pages.Swap(0); pages > 0 {
		a.writer.conn.TidyFor(int(pages))
	}
	a.owner.look()
	return min(a.held.look(a), a.lookout.rest())
}

func (a *agenda) idle(closing bool) time.Duration { return a.owner.files.rescue.run(closing) }

func (a *agenda) apply(b *batch) error {
	if err := a.owner.check(); err != nil {
		return err
	}
	b.keys = b.keys[:0]
	b.awaits.begin()
	if err := a.relay.pass(b.requests); err != nil {
		return err
	}
	b.takeSettled()
	for i := range b.flushes {
		if err := b.writeFlush(&b.flushes[i]); err != nil {
			return err
		}
	}
	return b.awaits.keep(b.conn, b.events)
}

// changesLimit is how often one transaction begins anew because of what others have done to the file.
const changesLimit = 3

func (a *agenda) anew(b *batch, err error, tries int) bool {
	again := errors.Is(err, errBeginAnew) || tries < changesLimit && a.owner.changed(err) || tries == 0 && a.renew(err)
	if again && tries == anewLimit {
		separate(b.requests)
	}
	return again
}

// renew takes another connection if a transaction has failed for want of memory, and tells whether that may do.
func (a *agenda) renew(err error) bool {
	if !errors.Is(err, fault.ErrNoMemory) {
		return false
	}
	a.writer.unshare()
	if err := a.writer.conn.Renew(); err != nil {
		a.logger.Warn("the connection that writes has too little memory, and cannot be opened again", "path", a.path, "error", err)
		return false
	}
	a.lookout.forget()
	return true
}

func (a *agenda) stored(b *batch) {
	a.lookout.known.appended(b.events)
	b.awaits.stored(b.events)
	b.tellKeys()
	b.tellSettled()
	a.tail.append(b.events, len(a.consumers.all())+int(a.arrivals.count.Load()))
}

func (a *agenda) ended(b *batch, err error) (more bool) {
	if err == nil {
		a.consumers.appended(b.events)
		b.awaits.told()
	}
	a.relay.direct = false
	if a.owner.files.rescue == nil {
		a.writer.conn.Tidy() // nobody waits for it
	}
	return a.held.due(a)
}

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
