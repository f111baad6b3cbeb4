package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// How long something waits, and what does not count as waiting.

// There is room, but the owner is busy with something else.
func TestAnAlarmDoesNotRingAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newSet(newFile(), Rules{Name: "a", AtOnce: 1, Wait: time.Microsecond})
		w := set.NewOwner(func() {}).NewWaiter([]Use{{set.Limit("a"), ""}}, nil, 0, 0)
		w.Park()
		before := looksOf(set)
		time.Sleep(10 * time.Millisecond)
		if looks := looksOf(set) - before; looks > 20 {
			t.Errorf("it has looked %d times within 10ms", looks)
		}
		if _, late, ok := w.Take(); !ok || late != nil {
			t.Errorf("it was taken: %v, %v", ok, late)
		}
	})
}

// looksOf returns how often somebody has looked who may begin.
func looksOf(set *Set) uint64 {
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.looks
}

func TestNoAlarmIsSetForATimeThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newSet(newFile(), Rules{Name: "a", AtOnce: 1})
		o := set.NewOwner(func() {})
		use := []Use{{set.Limit("a"), ""}}
		taken, _, _ := o.NewWaiter(use, nil, 0, 0).Take()
		defer taken.Release()
		time.Sleep(time.Second)
		w := o.NewWaiter(use, nil, 0, time.Second)
		set.mu.Lock()
		w.expires = set.now() // its owner is busy until later
		w.alarm()
		set.mu.Unlock()
		if w.timer != nil {
			t.Error("the alarm is set: it would ring again and again until the owner has a worker")
		}
	})
}

func TestAPauseDoesNotCountAsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := newSet(newFile(), Rules{Name: "a", AtOnce: 1, Wait: time.Minute})
		use := []Use{{set.Limit("a"), ""}}
		taken, _, _ := set.NewOwner(func() {}).NewWaiter(use, nil, 0, 0).Take()
		o := set.NewOwner(func() {})
		early := o.NewWaiter(use, nil, 0, 0)
		early.Park()
		time.Sleep(30 * time.Second)
		o.Pause(true)
		o.Pause(true)
		time.Sleep(30 * time.Second)
		late := o.NewWaiter(use, nil, 0, 0) // it was about to be asked for when the pause began
		late.Park()
		time.Sleep(time.Hour)
		if early.MayBegin() || late.MayBegin() {
			t.Fatal("one has waited for too long during the pause")
		}
		o.Pause(false)
		o.Pause(false)
		time.Sleep(29 * time.Second)
		if early.MayBegin() {
			t.Error("the pause has counted")
		}
		time.Sleep(2 * time.Second)
		if _, tooLate, ok := early.Take(); !ok || tooLate == nil {
			t.Error("what it waited before and after the pause does not count")
		}
		if late.MayBegin() {
			t.Error("the second has not waited for a minute yet")
		}
		time.Sleep(30 * time.Second)
		if _, tooLate, ok := late.Take(); !ok || tooLate == nil {
			t.Error("the second has waited for a minute")
		}
		taken.Release()
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
		set := newSet(newFile(), Rules{Name: "a", AtOnce: 1})
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
