package runtimetest

import (
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/observe"
)

// Attempt is a call of a handler that has ended, or an attempt that failed
// because the payload could not be decoded.
type Attempt struct {
	observe.AttemptInfo
	Result string // handled, failed, snoozed or discarded
	Kind   string // of a failed one: error, panic, goexit, timeout, decode or interrupted
	Error  string // of a failed one its text, of a discarded one the reason
}

// Attempts returns the attempts of a subscription, in the order in which they ended, for
// all buses of the kit. Calls that a crash has cut off are not among them. It can be
// called from any goroutine.
func (k *Kit) Attempts(subscription string) []Attempt {
	k.attempts.mu.Lock()
	defer k.attempts.mu.Unlock()
	return slices.Clone(k.attempts.of[subscription])
}

// attempts collects the calls of an observer.
type attempts struct {
	mu sync.Mutex
	of map[string][]Attempt // by subscription
}

func (a *attempts) add(one Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string][]Attempt{}
	}
	a.of[one.Subscription] = append(a.of[one.Subscription], one)
}

func (a *attempts) observer() observe.Observer {
	return observe.Observer{
		Handled: func(i observe.HandledInfo) { a.add(Attempt{AttemptInfo: i.AttemptInfo, Result: "handled"}) },
		Failed: func(i observe.FailedInfo) {
			a.add(Attempt{AttemptInfo: i.AttemptInfo, Result: "failed", Kind: i.Kind, Error: i.Error})
		},
		Snoozed: func(i observe.SnoozedInfo) { a.add(Attempt{AttemptInfo: i.AttemptInfo, Result: "snoozed"}) },
		Discarded: func(i observe.DiscardedInfo) {
			a.add(Attempt{AttemptInfo: i.AttemptInfo, Result: "discarded", Error: i.Reason})
		},
	}
}
