package sqlite

import (
	"errors"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// applyHere is apply on the log as it is now: what belongs to one that is gone must
// not be written to it.
func (w *writer) applyHere(g group) error {
	if err := w.inPlace(); err != nil {
		return err
	}
	if err := w.verify(); err != nil {
		return err
	}
	w.overtaken()
	return w.apply(g)
}

// changesLimit is how often one transaction begins anew.
const changesLimit = 3

// changed takes in what verify has found. It reports true when the transaction can
// be run again: without what belonged to the log that is gone.
func (w *writer) changed(err error) bool {
	if err == nil {
		return false // before there are variables for errors.As, which are on the heap
	}
	return w.takeIn(err)
}

func (w *writer) takeIn(err error) bool {
	var owned *event.OwnedError
	var refused *event.StorageError
	switch {
	case errors.Is(err, errRestored):
		if err := w.beginAnew(); err != nil {
			w.logger.Error("the file was restored while the bus ran, and cannot be read yet", "error", err)
			return false
		}
		return true
	case errors.As(err, &owned):
		w.fence(owned)
		return true
	case errors.As(err, &refused) && (refused.Fault == event.Foreign || refused.Fault == event.TooOld || refused.Fault == event.TooNew):
		if w.stop(refused) {
			w.logger.Error("the bus stops, because its file is gone", "path", w.log.path, "error", refused)
			w.log.tell(refused)
		}
	}
	return false
}

// beginAnew makes the log that was restored the one that this process knows. Its
// consumers are those of the log that is gone, so they end; whoever had them is told
// to ask for them again.
func (w *writer) beginAnew() error {
	l := w.log
	w.endConsumers()
	w.conn.TidyNow() // or else the next start takes its log for that of another file
	if err := l.types.reload(w.conn); err != nil {
		return err
	}
	if err := w.learn(); err != nil {
		return err
	}
	l.tail.reset(w.known.last + 1)
	l.generation.Add(1)
	if w.owns.Swap(false) {
		w.since.Store(0)
		l.again.Store(true)
		l.claims.Clear(0) // nobody is charged in this log for what ran in the other
	}
	l.tellPauses(w.conn)
	l.wakeAll()
	w.logger.Error("the file was restored while the bus ran; the bus goes on with the restored events", "path", l.path, "last", w.known.last)
	l.tell(engine.ErrRestored)
	return nil
}

// fence ends dispatching, because another process has begun to. Nothing more of it is
// written; events can still be published.
func (w *writer) fence(owned *event.OwnedError) {
	l := w.log
	w.owns.Store(false)
	w.since.Store(0)
	l.fenced.Store(owned)
	w.endConsumers()
	l.claims.Abandon() // they are the other's
	l.waiters.all()
	w.logger.Error("the bus stops dispatching, because another process has taken over", "path", l.path, "error", owned)
	l.tell(owned)
}

// stop ends everything: there is no file any more to write to. It reports false if that was so before.
func (w *writer) stop(why *event.StorageError) bool {
	l := w.log
	if !l.stopped.CompareAndSwap(nil, why) {
		return false
	}
	w.owns.Store(false)
	w.endConsumers()
	l.wakeAll()
	return true
}

// endConsumers drops all that was to be written for them.
func (w *writer) endConsumers() {
	l := w.log
	l.mu.Lock()
	consumers := l.consumers
	l.consumers = nil
	l.mu.Unlock()
	for _, c := range consumers {
		c.end()
	}
	w.mu.Lock()
	w.dirty = nil
	w.mu.Unlock()
	clear(w.flushes)
	w.flushes = w.flushes[:0]
	clear(w.failing)
}

// tell says that the log is not what it was, to whoever wants to know. It does not
// wait: that one needs the writer.
func (l *Log) tell(what error) {
	if l.changes != nil {
		go l.changes(what)
	}
}

// end makes the consumer one of a log that is gone: it hands out nothing and
// records nothing.
func (c *consumer) end() {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.way, c.dispositions, c.owed, c.writtenMeanwhile = nil, nil, nil, nil
	clear(c.rows)
}

// why returns why consumers have ended.
func (l *Log) why() error {
	if why := l.stopped.Load(); why != nil {
		return why
	}
	if owned := l.fenced.Load(); owned != nil {
		return owned
	}
	return engine.ErrRestored
}

// gone tells whether the consumer has ended.
func (c *consumer) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}
