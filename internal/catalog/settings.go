package catalog

import (
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// Settings are the settings in force for an event type or for one of its subscriptions. Each field knows
// where its value was written.
type Settings struct {
	Retry
	Timeout        Value[time.Duration] // of one attempt; 0 for none
	SlowAfter      Value[time.Duration] // an attempt that takes longer is logged; 0 for never
	SlowEventAfter Value[time.Duration] // an event that fails for longer is logged; 0 for never
	ExpiresAfter   Value[time.Duration] // over all attempts; 0 for never
	HoldUnknown    Value[time.Duration] // an event of a newer version waits for a program that knows it; 0 for not at all
	MaxSnoozes     Value[int]           // of one event; 0 for no limit
	Breaker        Breaker
	Concurrency    Value[int] // handlers of one subscription at once, from 1 on
	StrictOrder    Value[bool]
	Batch          Batch
	Limits         Value[[]*LimitUse] // what every attempt has to stay within
	Errors         []*ErrorRule       // the first that matches decides
	Redrive        Redrive
	Priority       Value[Priority]
}

// Retry says how often and when a failed event is tried again.
type Retry struct {
	MaxAttempts Value[int]
	Backoff     Value[retry.Backoff]
	BaseDelay   Value[time.Duration]
	MaxDelay    Value[time.Duration]
	Multiplier  Value[float64]
	Jitter      Value[float64]
}

// Policy returns r in the form the runtime computes with.
func (r Retry) Policy() retry.Policy {
	return retry.Policy{
		MaxAttempts: r.MaxAttempts.V,
		Backoff:     r.Backoff.V,
		BaseDelay:   r.BaseDelay.V,
		MaxDelay:    r.MaxDelay.V,
		Multiplier:  r.Multiplier.V,
		Jitter:      r.Jitter.V,
	}
}

// Options returns the fields of r that are written.
func (r Retry) Options() []retry.Option {
	var opts []retry.Option
	add := func(written bool, opt retry.Option) {
		if written {
			opts = append(opts, opt)
		}
	}
	add(r.MaxAttempts.Written(), retry.MaxAttempts(r.MaxAttempts.V))
	add(r.Backoff.Written(), retry.WithBackoff(r.Backoff.V))
	add(r.BaseDelay.Written(), retry.BaseDelay(r.BaseDelay.V))
	add(r.MaxDelay.Written(), retry.MaxDelay(r.MaxDelay.V))
	add(r.Multiplier.Written(), retry.Multiplier(r.Multiplier.V))
	add(r.Jitter.Written(), retry.Jitter(r.Jitter.V))
	return opts
}

// Breaker says when a subscription stops for a while because its handler fails
// too often. While Off is true the rest means nothing.
type Breaker struct {
	Off        Value[bool]
	Threshold  Value[float64]
	MinSamples Value[int]
	Window     Value[time.Duration]
	OpenFor    Value[time.Duration]
	By         Value[string] // the path of a field of the payload: each value has a breaker; not written for one breaker for all
}

// Policy returns b in the form the runtime decides with.
func (b Breaker) Policy() breaker.Policy {
	return breaker.Policy{
		Off:        b.Off.V,
		Threshold:  b.Threshold.V,
		MinSamples: b.MinSamples.V,
		Window:     b.Window.V,
		OpenFor:    b.OpenFor.V,
		By:         b.By.V,
	}
}

// Options returns the fields of b that are written.
func (b Breaker) Options() []breaker.Option {
	var opts []breaker.Option
	add := func(written bool, opt breaker.Option) {
		if written {
			opts = append(opts, opt)
		}
	}
	add(b.Off.Written() && b.Off.V, breaker.Off())
	add(b.Off.Written() && !b.Off.V, breaker.On())
	add(b.Threshold.Written(), breaker.Threshold(b.Threshold.V))
	add(b.MinSamples.Written(), breaker.MinSamples(b.MinSamples.V))
	add(b.Window.Written(), breaker.Window(b.Window.V))
	add(b.OpenFor.Written(), breaker.OpenFor(b.OpenFor.V))
	add(b.By.Written(), breaker.By(b.By.V))
	return opts
}

// Batch says how large the batches are of subscriptions that have them.
type Batch struct {
	Size Value[int]           // events at most
	Wait Value[time.Duration] // for more events after the first; 0 for not at all
}

// Written tells whether a file says something about batches.
func (b Batch) Written() bool { return b.Size.Written() || b.Wait.Written() }

// Redrive says which dead letters are tried again by themselves. While Off is
// true, as it is if nothing is written, the rest means nothing.
type Redrive struct {
	Off     Value[bool]
	Reasons Value[[]string] // empty for all
	Every   Value[time.Duration]
	Max     Value[int]
}

// BuiltinRedrive is switched off. Its other values apply when a catalogue switches it on.
func BuiltinRedrive() Redrive {
	return Redrive{Off: Value[bool]{V: true}, Every: Value[time.Duration]{V: time.Hour}, Max: Value[int]{V: 3}}
}

// ErrorRule says what errors of one class mean. Either Permanent is true or Retry
// holds what is different for them; fields of it without a position are those
// of the event.
type ErrorRule struct {
	Class     Value[string]
	GoName    string // of the constant: ErrorCardDeclined
	Permanent Value[bool]
	Retry     Retry
}

// Priority orders the deliveries that wait in one subscription.
type Priority int

// The priorities; Normal is the zero value and the default.
const (
	Normal Priority = iota
	High
	Low
	Critical
)

// String returns the word of the catalogue language.
func (p Priority) String() string { return PriorityWords[p] }

// PriorityWords lists the words of the catalogue language, in the order of the constants.
var PriorityWords = []string{"normal", "high", "low", "critical"}
