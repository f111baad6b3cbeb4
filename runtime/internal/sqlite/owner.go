package sqlite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// owner is the right to dispatch, which one process has at a time, and what becomes of the log of who has it: another
// state of the file was restored, another process has taken over, the file is gone.
type owner struct {
	*ground
	writer    *writer
	consumers *consumers
	lookout   *lookout
	files     *files
	pauses    *pauses
	activity  *activity

	again atomic.Bool   // this process has the owner's lock, and another log than it took over
	back  time.Duration // by how much the wall clock was set back, which the due times have yet to follow; under the writer's turn

	mu    sync.Mutex
	grown *time.Timer // says when this process has dispatched for long; nil before it does
}

// look notices what other processes have written.
func (o *owner) look() {
	if !o.lookout.isTime() {
		return
	}
	if o.lookout.cares() {
		if o.inPlace() != nil {
			return
		}
		o.claims.Keep(o.logger)
		o.followClock()
	}
	if !o.lookout.news() {
		return
	}
	o.changed(o.lookout.verify())
	o.lookout.arrived() // before what it ends the looking for is read: a commit may come in between
	if o.refresh(o.writer.conn) != nil {
		o.lookout.forget() // so the next look tries again
	}
}

// refresh takes in what other processes have written: events, names of types,
// redriven dead letters, settled deliveries. It runs on the writer's goroutine. After
// an error it is called again with the next look.
func (o *owner) refresh(c *database.Conn) error {
	last, err := c.Int64("SELECT max(seq) FROM busgen_log")
	if err != nil {
		return err
	}
	if last+1 != o.tail.end() {
		o.tail.reset(last + 1)
	}
	if err := o.types.load(c); err != nil {
		return err
	}
	if err := o.activity.tellRequests(c); err != nil {
		return err
	}
	asked, old, err := o.pauses.readSteering(c)
	if err != nil {
		return err
	}
	if (len(asked) > 0 || old) && o.owns.Load() {
		go o.consumers.answer(context.Background(), asked) // which needs the writer
	}
	o.consumers.recheck()
	o.wakeAll()
	return nil
}

// check makes sure, in the transaction at hand, that the log is the one that this process knows: what belongs to one
// that is gone must not be written to it.
func (o *owner) check() error {
	if err := o.inPlace(); err != nil {
		return err
	}
	if err := o.lookout.verify(); err != nil {
		return err
	}
	o.lookout.overtaken()
	return nil
}

// changed takes in what verify has found. It reports true when the transaction can
// be run again: without what belonged to the log that is gone.
func (o *owner) changed(err error) bool {
	if err == nil {
		return false // before there are variables for errors.As, which are on the heap
	}
	return o.takeIn(err)
}

func (o *owner) takeIn(err error) bool {
	var owned *engine.OwnedError
	var refused *engine.StorageError
	switch {
	case errors.Is(err, errRestored):
		if err := o.beginAnew(); err != nil {
			o.logger.Error("the file was restored while the bus ran, and cannot be read yet", "error", err)
			return false
		}
		return true
	case errors.As(err, &owned):
		o.fence(owned)
		return true
	case errors.As(err, &refused) && (refused.Fault == engine.Foreign || refused.Fault == engine.TooOld || refused.Fault == engine.TooNew):
		if o.stop(refused) {
			o.logger.Error("the bus stops, because its file is gone", "path", o.path, "error", refused)
			o.tell(refused)
		}
	}
	return false
}

// beginAnew makes the log that was restored the one that this process knows. Its
// consumers are those of the log that is gone, so they end; whoever had them is told
// to ask for them again.
func (o *owner) beginAnew() error {
	o.consumers.endAll()
	o.writer.conn.TidyNow() // or else the next start takes its log for that of another file
	if err := o.types.reload(o.writer.conn); err != nil {
		return err
	}
	if err := o.lookout.learn(); err != nil {
		return err
	}
	o.tail.reset(o.lookout.known.last + 1)
	o.generation.Add(1)
	if o.owns.Swap(false) {
		o.since.Store(0)
		o.again.Store(true)
		o.claims.Clear(0) // nobody is charged in this log for what ran in the other
	}
	o.pauses.tell(o.writer.conn)
	o.wakeAll()
	o.logger.Error("the file was restored while the bus ran; the bus goes on with the restored events", "path", o.path, "last", o.lookout.known.last)
	o.tell(engine.ErrRestored)
	return nil
}

// fence ends dispatching, because another process has begun to. Nothing more of it is
// written; events can still be published.
func (o *owner) fence(owned *engine.OwnedError) {
	o.owns.Store(false)
	o.since.Store(0)
	o.fenced.Store(owned)
	o.consumers.endAll()
	o.claims.Abandon() // they are the other's
	o.waiters.all()
	o.logger.Error("the bus stops dispatching, because another process has taken over", "path", o.path, "error", owned)
	o.tell(owned)
}

// stop ends everything: there is no file any more to write to. It reports false if that was so before.
func (o *owner) stop(why *engine.StorageError) bool {
	if !o.stopped.CompareAndSwap(nil, why) {
		return false
	}
	o.owns.Store(false)
	o.consumers.endAll()
	o.wakeAll()
	return true
}
