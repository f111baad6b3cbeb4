package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/declare"
)

// looksOf returns how often somebody has looked who may begin.
func looksOf(set *Set) uint64 {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.looks
}

func TestNoAlarmIsSetForATimeThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
		o := set.NewOwner(func() {})
		use := []Use{{set.Limit("a"), ""}}
		taken, _ := o.NewWaiter(use, 0, 0).Take()
		defer taken.Release()
		time.Sleep(time.Second)
		w := o.NewWaiter(use, 0, time.Second)
		set.mu.Lock()
		w.expires = set.now() // its owner is busy until later
		w.alarm()
		set.mu.Unlock()
		if w.timer != nil {
			t.Error("the alarm is set: it would ring again and again until the owner has a worker")
		}
	})
}

// asked is a context that says whether the lock of a set is free when it is asked anything. That of an attempt takes the
// lock of the attempt, which is taken before that of the set: asked under it, both would wait for each other.
type asked struct {
	context.Context
	t   *testing.T
	set *Set
}

func (a asked) look() {
	if !a.set.mu.TryLock() {
		a.t.Error("the context is asked while the lock of the set is held")
		return
	}
	a.set.mu.Unlock()
}

func (a asked) Err() error {
	a.look()
	return a.Context.Err()
}

func (a asked) Value(key any) any {
	a.look()
	return a.Context.Value(key)
}

func TestAContextIsNotAskedWhileTheLockIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newSet(newFile(), declare.Limit{Name: "a", AtOnce: 1})
		ctx, cancel := context.WithCancel(t.Context())
		into := set.NewGrant()
		call, err := set.Acquire(asked{ctx, t, set}, Use{set.Limit("a"), ""}, into)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		for range 2 { // it ends while it waits, and has ended before
			if _, err := set.Acquire(asked{ctx, t, set}, Use{set.Limit("a"), ""}, set.NewGrant()); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		}
		call.End()
	})
}
