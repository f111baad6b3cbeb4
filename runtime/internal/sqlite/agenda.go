package sqlite

import (
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
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
	if err := a.relay.pass(b.requests); err != nil {
		return err
	}
	b.takeSettled()
	for i := range b.flushes {
		if err := b.writeFlush(&b.flushes[i]); err != nil {
			return err
		}
	}
	return nil
}

// changesLimit is how often one transaction begins anew because of what others have done to the file.
const changesLimit = 3

func (a *agenda) anew(b *batch, err error, tries int) bool {
	if err == nil || !errors.Is(err, errBeginAnew) && !(tries < changesLimit && a.owner.changed(err)) && !(tries == 0 && a.renew(err)) {
		return false
	}
	if tries == anewLimit {
		separate(b.requests)
	}
	return true
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
	a.lookout.renewed()
	return true
}

func (a *agenda) stored(b *batch) {
	a.lookout.known.appended(b.events)
	b.tellKeys()
	b.tellSettled()
	a.tail.append(b.events, len(a.consumers.all())+int(a.arrivals.count.Load()))
}

func (a *agenda) ended(b *batch, err error) (more bool) {
	if err == nil {
		a.consumers.appended(b.events)
	}
	a.relay.direct = false
	if a.owner.files.rescue == nil {
		a.writer.conn.Tidy() // nobody waits for it
	}
	return a.held.due(a)
}
