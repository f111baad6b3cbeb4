package runtime

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/busgen/busgen/runtime/event"
)

// refusals counts events that were not published, by reason.
type refusals struct {
	mu sync.Mutex
	by map[string]uint64
}

// refused counts n events that a program wanted to publish, unless the call has succeeded, and returns the error.
func refused(to Publisher, n int, err error) error {
	if err == nil {
		return nil
	}
	if bus, _, missing := targetOf(to); missing == nil {
		bus.refusals.add(n, err)
	}
	return err
}

// add counts n events.
func (r *refusals) add(n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]uint64{}
	}
	r.by[refusalOf(err)] += uint64(n)
}

// refusalReasons are what refusalOf returns, but for faults of the storage.
var refusalReasons = []string{"attempt_over", "cancelled", "conflict", "hop_limit", "invalid", "metadata", "middleware", "option", "other", "pending", "shutdown", "too_large", "unknown_type"}

// refusalOf names why an event was not stored.
func refusalOf(err error) string {
	if stored, ok := errors.AsType[*event.StorageError](err); ok {
		return refusalFault(stored.Fault)
	}
	is := func(reason string, found bool) string {
		if found {
			return reason
		}
		return ""
	}
	for _, reason := range []string{
		is("middleware", as[*RefusedError](err)), is("invalid", as[*InvalidPayloadError](err)), is("too_large", as[*PayloadTooLargeError](err)),
		is("metadata", as[*HeaderError](err)), is("option", as[*OptionError](err)), is("conflict", as[*event.ConflictError](err)),
		is("unknown_type", as[*UnknownTypeError](err)), is("pending", as[*PendingError](err)), is("hop_limit", as[*HopLimitError](err)),
		is("attempt_over", errors.Is(err, ErrAttemptOver)), is("shutdown", errors.Is(err, ErrShutdown)),
		is("cancelled", errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)),
	} {
		if reason != "" {
			return reason
		}
	}
	return "other"
}

func as[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// refusalFault is the reason that stands for a fault: disk_full.
func refusalFault(f event.Fault) string {
	return strings.NewReplacer(" ", "_", "/", "_", "-", "_").Replace(string(f))
}

// snapshot returns the counts of all reasons; those of faults of the storage once they have happened.
func (r *refusals) snapshot() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]uint64{refusalFault(event.DiskFull): 0, refusalFault(event.Busy): 0}
	for _, reason := range refusalReasons {
		all[reason] = 0
	}
	for reason, n := range r.by {
		all[reason] = n
	}
	return all
}
