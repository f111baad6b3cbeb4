package sqlite

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
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
	awaits    *awaits

	again atomic.Bool   // this process has the owner's lock, and another log than it took over
	back  time.Duration // by how much the wall clock was set back, which due times do not follow yet; under the writer's turn

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
	if err := o.awaits.noticed(c, last); err != nil {
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
	var owned *event.OwnedError
	var refused *event.StorageError
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
	case errors.As(err, &refused) && (refused.Fault == event.Foreign || refused.Fault == event.TooOld || refused.Fault == event.TooNew):
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
	o.awaits.drop()
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
func (o *owner) fence(owned *event.OwnedError) {
	o.owns.Store(false)
	o.since.Store(0)
	o.fenced.Store(owned)
	o.consumers.endAll()
	o.awaits.drop()
	o.claims.Abandon() // they are the other's
	o.waiters.all()
	o.logger.Error("the bus stops dispatching, because another process has taken over", "path", o.path, "error", owned)
	o.tell(owned)
}

// stop ends everything: there is no file any more to write to. It reports false if that was so before.
func (o *owner) stop(why *event.StorageError) bool {
	if !o.stopped.CompareAndSwap(nil, why) {
		return false
	}
	o.owns.Store(false)
	o.consumers.endAll()
	o.awaits.drop()
	o.wakeAll()
	return true
}

// TakeOver implements [engine.Log].
func (o *owner) TakeOver(ctx context.Context) (found engine.Recovery, err error) {
	if o.owns.Load() {
		return found, nil // it has taken over already
	}
	if o.again.Swap(false) && o.claims.Owns() {
		// The lock is still this process's.
	} else if err := o.claims.Own(); err != nil {
		if errors.Is(err, locks.ErrOwned) {
			return found, o.errOwned()
		}
		return found, claimsError("lock", o.path+file.ClaimsSuffix, err)
	}
	err = o.takeOver(ctx, &found)
	if err != nil {
		return found, errors.Join(fault.Wrap("take over", o.path, err), o.claims.Abandon())
	}
	return found, nil
}

func (o *owner) takeOver(ctx context.Context, found *engine.Recovery) error {
	left, process, err := o.claims.Read()
	if err != nil {
		return claimsError("read", o.path+file.ClaimsSuffix, err)
	}
	// On disk before the claims are cleared, which nothing orders after it.
	// Should that fail, they are those of an earlier life from now on, and
	// nobody is charged for them again.
	var since int64
	err = o.writer.doSynced(ctx, func(c *database.Conn) error {
		if err := refuseLabelled(c); err != nil {
			return err
		}
		before, err := c.Int64("SELECT since FROM busgen_owner")
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(one claims.Claim) bool { return one.Life != lifeOf(before) })
		found.CrashLoop = claims.DiedYoung(left, process.Age)
		if err := o.recover(c, left, found); err != nil {
			return err
		}
		if err := clearActivity(c); err != nil {
			return err
		}
		if err := tables.EndFormerRoutes(c, tables.EverySubscription); err != nil {
			return err
		}
		if err := forgetSettled(c); err != nil {
			return err
		}
		for _, consumer := range o.consumers.all() {
			if err := consumer.keepOrder(c); err != nil {
				return err
			}
		}
		if err := o.followClockSince(c, found); err != nil {
			return err
		}
		if err := c.Exec("UPDATE busgen_cancelled SET answer = ? WHERE answer = "+notAnswered, answerNone); err != nil {
			return err
		}
		since = max(before+1, time.Now().UnixMicro())
		return c.Exec("INSERT OR REPLACE INTO busgen_owner (one, pid, since) VALUES (1, ?, ?)", os.Getpid(), since)
	})
	if err != nil {
		*found = engine.Recovery{} // the next one finds it again
		return err
	}
	o.since.Store(since)
	if err := o.claims.Clear(lifeOf(since)); err != nil {
		return claimsError("clear", o.path+file.ClaimsSuffix, err)
	}
	o.growUp(found.CrashLoop)
	// The last owner may have dispatched what this process published. The writer, which looks
	// at what others have written, reads the consumers too: it waits meanwhile.
	<-o.writer.turn
	defer func() { o.writer.turn <- struct{}{} }()
	err = o.read(func(c *database.Conn) error {
		last, err := c.Int64("SELECT max(seq) FROM busgen_log")
		if err == nil {
			err = o.steps.learn(c)
		}
		if err != nil {
			return err
		}
		o.tail.reset(last + 1)
		for _, consumer := range o.consumers.all() {
			if err := consumer.load(c); err != nil {
				return err
			}
		}
		if _, _, err := o.consumers.readCancelled(c); err != nil {
			return err
		}
		if err := o.awaits.load(c); err != nil {
			return err
		}
		// An upper bound that costs nothing: how far the slowest subscription is
		// behind, whether or not all of that is for it.
		found.Backlog, err = c.Int64("SELECT max(0, (SELECT max(seq) FROM busgen_log) - (SELECT min(cursor) FROM busgen_subscriptions))")
		return err
	})
	if err != nil {
		o.awaits.drop()
	}
	o.owns.Store(err == nil)
	o.lookout.watchOthers()
	return err
}

// growUp lets the claims say that this process is young, and when it is so no more.
func (o *owner) growUp(looping bool) {
	age := claims.Young
	if looping {
		age = claims.Looping
	}
	o.claims.SetAge(age)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.grown == nil {
		o.grown = time.AfterFunc(engine.CrashLoopTime, func() { o.claims.SetAge(claims.Grown) })
	} else { // it has taken over again
		o.grown.Reset(engine.CrashLoopTime)
	}
}

// stopGrowing undoes growUp.
func (o *owner) stopGrowing() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.grown != nil {
		o.grown.Stop()
	}
}

// lifeOf is how the claims name the owner since the given microsecond.
func lifeOf(since int64) uint32 { return uint32(since) }

// claimsError is the error of the file beside the log.
func claimsError(op, path string, err error) error {
	var e *event.StorageError
	if err = fault.Wrap(op, path, err); errors.As(err, &e) && e.Fault == event.IO {
		e.Hint = "it must be a plain file that this user may read and write; it can be deleted while nothing runs"
	}
	return err
}

// errOwned returns the error that names who dispatches.
func (o *owner) errOwned() error {
	owner, err := valueOf(o.ground, readOwner)
	return errors.Join(&event.OwnedError{Path: o.path, PID: owner.PID, Since: owner.Since}, err)
}
