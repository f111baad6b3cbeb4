package chart

import (
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// Prediction is an attempt that will be made if the ones before fail.
type Prediction struct {
	Number int       // of the attempts that count
	At     time.Time // UTC; the time that attempts take comes on top of it
	Exact  bool      // it is in the file; the others follow from the policy
	Last   bool      // if it fails, too, the delivery is a dead letter
}

// Predict says when a delivery that waits is tried again. The same event waits equally long
// every time, jitter included, so only the time that attempts take is not known.
func Predict(policy retry.Policy, id uuid.UUID, d event.DeliveryState) (all []Prediction) {
	if d.State != event.StateWaiting || d.Due.IsZero() {
		return nil
	}
	at := d.Due
	for n := d.Counted + 1; n <= policy.MaxAttempts; n++ {
		if n > d.Counted+1 {
			at = at.Add(policy.Jittered(n, id, d.Subscription))
		}
		all = append(all, Prediction{n, at, n == d.Counted+1, n == policy.MaxAttempts})
	}
	if all == nil { // the subscription has another policy than the catalogue says
		return PredictOne(d)
	}
	return all
}

// PredictOne is the next attempt, which the file knows.
func PredictOne(d event.DeliveryState) []Prediction {
	return []Prediction{{Number: d.Counted + 1, At: d.Due, Exact: true}}
}

// Mark is something on the time axis of a delivery.
type Mark struct {
	Kind string  // failed, next, dead, discarded, crash, now
	X    float64 // percent of the axis
	What string  // in words
}

// Axis is the span of time that all deliveries of an event share.
type Axis struct{ From, To time.Time }

// mostMarks is how many marks of one kind a delivery has.
const mostMarks = 100

// x is where a time is, in percent, with room for the marks at both ends.
func (a Axis) x(t time.Time) float64 {
	if !a.To.After(a.From) {
		return 1
	}
	share := float64(t.Sub(a.From)) / float64(a.To.Sub(a.From))
	return 1 + float64(int(980*min(max(share, 0), 1)))/10
}

// Course is a delivery with the attempts that will be made.
type Course struct {
	event.DeliveryState
	Next []Prediction
}

// Spread lays the deliveries on a time axis, which begins with the event and ends with
// the last thing that happened or is predicted. It returns the marks of each delivery.
func Spread(now, published time.Time, deliveries []Course) (Axis, [][]Mark) {
	a := Axis{published, published}
	see := func(t time.Time) {
		if t.After(a.To) {
			a.To = t
		}
		if !t.IsZero() && t.Before(a.From) {
			a.From = t
		}
	}
	for _, d := range deliveries {
		for _, one := range d.Attempts {
			see(one.Ended)
		}
		for _, crash := range d.Crashes {
			see(crash.At)
		}
		see(d.Settled)
		for _, p := range d.Next {
			see(p.At)
			see(now)
		}
	}
	var marks [][]Mark
	for _, d := range deliveries {
		marks = append(marks, a.marks(now, d))
	}
	return a, marks
}

func (a Axis) marks(now time.Time, d Course) (all []Mark) {
	add := func(kind string, at time.Time, what string) {
		if !at.IsZero() {
			all = append(all, Mark{kind, a.x(at), what + " at " + at.UTC().Format("15:04:05 UTC")})
		}
	}
	if len(d.Next) > 0 {
		add("now", now, "now")
	}
	attempts := d.Attempts
	for _, one := range attempts[max(0, len(attempts)-mostMarks):] {
		add("failed", one.Ended, "a failed attempt")
	}
	for _, crash := range d.Crashes[max(0, len(d.Crashes)-mostMarks):] {
		add("crash", crash.At, "an end of the process")
	}
	for _, p := range d.Next {
		add("next", p.At, "a retry")
	}
	switch d.State {
	case event.StateDead, event.StateDiscarded:
		add(d.State, d.Settled, d.State)
	}
	return all
}
