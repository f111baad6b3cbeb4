package settings

import (
	"slices"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/runtime/retry"
)

// The keys that say how events are delivered. They are the same in `defaults`, in a policy and in an event; a
// subscription has all but the last, which is about events among each other.
var (
	Keys             = append(slices.Clone(SubscriptionKeys), "priority")
	SubscriptionKeys = []string{"retry", "timeout", "slow_after", "slow_event_after", "expires_after", "hold_unknown", "max_snoozes", "breaker", "concurrency", "strict_order", "batch", "limits", "errors", "redrive"}
)

// PatternKeys are those of a subscription for patterns. It has no batches, because a batch has events of one type.
var PatternKeys = slices.DeleteFunc(slices.Clone(SubscriptionKeys), func(key string) bool { return key == "batch" })

var patience = text.Span{Least: time.Millisecond, Most: retry.LimitDelay, OrOff: true}

// builtin returns the settings of an event for which nothing is written.
func builtin() catalog.Settings {
	return catalog.Settings{
		Retry:          builtinRetry(),
		Timeout:        catalog.Value[time.Duration]{V: 30 * time.Second},
		SlowAfter:      catalog.Value[time.Duration]{V: 10 * time.Second},
		SlowEventAfter: catalog.Value[time.Duration]{V: 5 * time.Minute},
		HoldUnknown:    catalog.Value[time.Duration]{V: 7 * 24 * time.Hour},
		MaxSnoozes:     catalog.Value[int]{V: 10_000},
		Breaker:        builtinBreaker(),
		Concurrency:    catalog.Value[int]{V: 1},
		Batch:          builtinBatch(),
		Redrive:        catalog.BuiltinRedrive(),
		Priority:       catalog.Value[catalog.Priority]{V: catalog.Normal},
	}
}

// Settings reads how events are delivered, as it is written in one place, and declares what that names.
type Settings struct {
	*text.Reader
	names   *names.Names
	parts   *files.Parts
	limits  map[string]*catalog.Limit // by name, and those with a broken body, too
	classes []*catalog.ErrorClass     // the error classes so far
}

// New returns a reader of settings.
func New(names *names.Names, parts *files.Parts) *Settings {
	return &Settings{Reader: names.Reader, names: names, parts: parts, limits: map[string]*catalog.Limit{}}
}

// Of reads the settings that are written in o. The others stay zero, without a position.
func (r *Settings) Of(o text.Object) catalog.Settings {
	var s catalog.Settings
	if e, ok := o.Entries["retry"]; ok {
		s.Retry = r.retry(e, "retry of "+o.What)
	}
	s.Timeout = r.Duration(o, "timeout", patience)
	s.SlowAfter = r.Duration(o, "slow_after", patience)
	s.SlowEventAfter = r.Duration(o, "slow_event_after", patience)
	s.ExpiresAfter = r.Duration(o, "expires_after", patience)
	s.HoldUnknown = r.Duration(o, "hold_unknown", patience)
	s.Breaker = r.breaker(o)
	s.MaxSnoozes = r.CountOrOff(o, "max_snoozes", limitSnoozes, "it is off or counts snoozes of one event")
	s.Concurrency = r.Count(o, "concurrency", 1, limitConcurrency, "it is how many handlers of one subscription run at once")
	s.StrictOrder = r.Flag(o, "strict_order")
	s.Batch = r.batch(o)
	s.Limits = r.limitUses(o)
	s.Errors = r.errorRules(o)
	s.Redrive = r.redrive(o)
	s.Priority = text.OneOf(r.Reader, o, "priority", catalog.PriorityWords, func(word string) (catalog.Priority, bool) {
		i := slices.Index(catalog.PriorityWords, word)
		return catalog.Priority(i), i >= 0
	})
	return s
}

// limitConcurrency limits `concurrency`, as [runtime.WithConcurrency] does.
const limitConcurrency = 1024

// limitSnoozes limits `max_snoozes`. A larger value would have no effect.
const limitSnoozes = 1_000_000

// ReadDefaults reads `defaults:` of the root.
func (r *Settings) ReadDefaults(root text.Object) (defaults catalog.Settings) {
	if e, ok := root.Entries["defaults"]; ok {
		o, _ := r.Object(e.Value, "defaults", Keys...)
		defaults = r.Of(o)
	}
	return defaults
}
