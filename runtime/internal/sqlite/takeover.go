package sqlite

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

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
		if err := endFormerRoutes(c, everySubscription); err != nil {
			return err
		}
		if err := forgetSettled(c); err != nil {
			return err
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
		// An upper bound that costs nothing: how far the slowest subscription is
		// behind, whether or not all of that is for it.
		found.Backlog, err = c.Int64("SELECT max(0, (SELECT max(seq) FROM busgen_log) - (SELECT min(cursor) FROM busgen_subscriptions))")
		return err
	})
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
	var e *engine.StorageError
	if err = fault.Wrap(op, path, err); errors.As(err, &e) && e.Fault == engine.IO {
		e.Hint = "it must be a plain file that this user may read and write; it can be deleted while nothing runs"
	}
	return err
}

// owner returns the error that names who dispatches.
func (o *owner) errOwned() error {
	var owner engine.Owner
	err := o.read(func(c *database.Conn) (err error) {
		owner, err = readOwner(c)
		return err
	})
	return errors.Join(&engine.OwnedError{Path: o.path, PID: owner.PID, Since: owner.Since}, err)
}
