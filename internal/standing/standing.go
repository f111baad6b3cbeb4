// Package standing says in words why a subscription does not go on: what keeps its deliveries from being handled, the
// most important thing first. The command and the page show the same sentences.
package standing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
)

// The levels of a [Reason].
const (
	Bad  = "bad"  // it stands still, and an operator has to act
	Warn = "warn" // something waits, as it was told to
	Good = "good" // it goes on, or has nothing to do
)

// Reason is one thing that is to be said of a subscription.
type Reason struct {
	Level string    `json:"level"`
	Text  string    `json:"text"`           // a sentence
	Since time.Time `json:"since,omitzero"` // UTC; zero if that is not known
}

// Of returns what is to be said of a subscription, the first cause first. There is always one. A subscription that the
// status does not have is false.
func Of(status event.Status, name string) (reasons []Reason, known bool) {
	at := slices.IndexFunc(status.Subscriptions, func(s event.SubscriptionState) bool { return s.Name == name })
	if at < 0 {
		return nil, false
	}
	l := looking{bus: status, of: status.Subscriptions[at]}
	l.process()
	l.itself()
	l.breakers()
	l.pauses()
	l.waitlists()
	l.versions()
	l.handlers()
	l.rest()
	return l.reasons, true
}

// InWay returns what keeps a subscription from handling what would be given to it now, at most three reasons: a pause,
// no process or no handler, an open circuit breaker. It is empty if nothing does.
func InWay(status event.Status, name string) (reasons []Reason) {
	for i := range status.Subscriptions {
		if status.Subscriptions[i].Name == name && status.Subscriptions[i].Backlog == 0 {
			status.Subscriptions = slices.Clone(status.Subscriptions)
			status.Subscriptions[i].Backlog = 1 // what would be given to it
		}
	}
	all, _ := Of(status, name)
	for _, r := range all {
		if r.Level != Good && len(reasons) < mostInWay {
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// mostInWay is how many reasons InWay returns at most.
const mostInWay = 3

// looking is a look at one subscription.
type looking struct {
	bus     event.Status
	of      event.SubscriptionState
	reasons []Reason
}

func (l *looking) say(level string, since time.Time, format string, args ...any) {
	l.reasons = append(l.reasons, Reason{level, fmt.Sprintf(format, args...), since})
}

func (l *looking) ago(t time.Time) string { return words.Ago(t, l.bus.At) }

// span is how long something has been so.
func (l *looking) span(since time.Time) string { return words.Span(max(l.bus.At.Sub(since), 0)) }

// alive tells whether a process dispatches.
func (l *looking) alive() bool { return l.bus.Owner != nil && l.bus.Owner.Alive }

// process says what keeps all subscriptions.
func (l *looking) process() {
	if l.bus.Unwritable != "" {
		l.say(Bad, time.Time{}, "Nothing can be stored: %s.", l.bus.Unwritable)
	}
	switch {
	case l.alive():
	case l.of.Backlog == 0:
		l.say(Good, time.Time{}, "No process dispatches, and there is nothing to handle.")
	case l.bus.Owner == nil:
		l.say(Bad, time.Time{}, "No process has ever dispatched from this bus.")
	case l.bus.Owner.PID == 0:
		l.say(Bad, time.Time{}, "No process dispatches.")
	default:
		l.say(Bad, l.bus.Owner.Since, "No process dispatches: process %d, which started %s, has ended.", l.bus.Owner.PID, l.ago(l.bus.Owner.Since))
	}
	if l.bus.CrashLoop {
		l.say(Bad, time.Time{}, "The last process ended within 10 seconds of its start while handlers were running. Deliveries that would be dead letters after one more crash wait until a process has lived for longer.")
	}
}

// itself says what keeps the whole subscription.
func (l *looking) itself() {
	for _, p := range l.bus.Pauses {
		if p.Subscription == l.of.Name && p.Key == "" {
			l.say(Warn, p.Since, "It has been paused for %s%s.", l.span(p.Since), by(p))
		}
	}
	for _, s := range l.of.Stalled {
		l.say(Bad, s.Since, "It has stood still for %s: %s.", l.span(s.Since), s)
	}
	if l.of.Unhandled {
		l.say(Bad, time.Time{}, "No process has a handler for it: it was renamed without an alias, or its program does not run.")
	}
}

// by names who has paused something, and why.
func by(p event.PauseState) string {
	text := ""
	if p.Actor != "" {
		text = " by " + p.Actor
	}
	if p.Reason != "" {
		text += ": " + strings.TrimRight(p.Reason, ".")
	}
	return text
}

// shown is how many keys a sentence names.
const shown = 3

func (l *looking) breakers() {
	var keys []string
	more, since := 0, time.Time{}
	for _, b := range l.bus.Breakers {
		switch {
		case cmp.Or(b.Group, b.Subscription) != l.of.Name && b.Subscription != l.of.Name:
		case b.Key != "":
			keys, more = append(keys, b.Key), more+b.More
			if since.IsZero() {
				since = b.Since
			}
		default:
			whose := "Its circuit breaker"
			if b.Group != "" && b.Subscription != l.of.Name {
				whose = "The circuit breaker of its member " + b.Subscription
			}
			next := ". One delivery is tried now"
			if !b.Until.IsZero() {
				next = ". It tries the next one " + l.ago(b.Until)
			}
			l.say(Bad, b.Since, "%s has been %s for %s: %d of %d deliveries failed%s.", whose, b.State, l.span(b.Since), b.Failures, b.Deliveries, next)
		}
	}
	if len(keys) > 0 {
		l.say(Warn, since, "%s not closed: %s.", have(len(keys)+more, "circuit breaker of a key is", "circuit breakers of keys are"), some(keys, len(keys)+more))
	}
}

func (l *looking) pauses() {
	var keys []string
	var first event.PauseState
	for _, p := range l.bus.Pauses {
		switch {
		case p.Subscription == l.of.Name && p.Key != "":
			if keys = append(keys, p.Key); len(keys) == 1 {
				first = p
			}
		case p.Types != "" && l.gets(p.Types):
			l.say(Warn, p.Since, "Events of type %s have been paused for %s%s.", p.Types, l.span(p.Since), by(p))
		}
	}
	switch {
	case len(keys) == 1:
		l.say(Warn, first.Since, "The deliveries of key %s have been paused for %s%s.", first.Key, l.span(first.Since), by(first))
	case len(keys) > 1:
		l.say(Warn, first.Since, "%d keys are paused: %s. The first one has been for %s%s.", len(keys), some(keys, len(keys)), l.span(first.Since), by(first))
	}
}

// gets tells whether the subscription gets an event type that a glob matches.
func (l *looking) gets(globbed string) bool {
	own, err := glob.ParseSet(l.of.Pattern)
	paused, also := glob.Parse(globbed)
	if err != nil || also != nil {
		return false
	}
	return own.Match(globbed) || paused.Match(l.of.Pattern) ||
		slices.ContainsFunc(l.bus.Types, func(t event.TypeCount) bool { return own.Match(t.Name) && paused.Match(t.Name) })
}

func (l *looking) waitlists() {
	for _, waitlist := range l.bus.Waitlists {
		if waitlist.Subscription != l.of.Name {
			continue
		}
		what := ""
		switch waitlist.Kind {
		case event.WaitlistLimit:
			what = "limit " + waitlist.Limit
			if waitlist.Key != "" {
				what += " of " + waitlist.Key
			}
		case event.WaitlistKey:
			what = "earlier ones of their partition key " + waitlist.Key
		case event.WaitlistBreaker:
			what = "the circuit breaker of " + waitlist.Key
		default:
			what = "the end of the pause of " + waitlist.Key
		}
		l.say(Warn, waitlist.Since, "%s for %s, the first from %s.", have(waitlist.Waiting, "delivery waits", "deliveries wait"), what, l.ago(waitlist.Since))
	}
}

func (l *looking) versions() {
	for _, n := range l.of.Newer {
		l.say(Warn, n.Since, "%s for a program that knows version %d of %s, for %s.", have(n.Events, "event has waited", "events have waited"), n.Version, n.Type, l.span(n.Since))
	}
}

func (l *looking) handlers() {
	run, left, since := 0, 0, time.Time{}
	for _, r := range l.bus.Running {
		if cmp.Or(r.Group, r.Subscription) != l.of.Name && r.Subscription != l.of.Name {
			continue
		}
		if run++; since.IsZero() || r.Started.Before(since) {
			since = r.Started
		}
		if r.Abandoned {
			left++
		}
	}
	if left > 0 {
		l.say(Bad, since, "%s and was left behind: it may hold what others wait for.", have(left, "handler has ignored its deadline", "handlers have ignored their deadlines"))
	}
	if l.of.Saturated {
		l.say(Bad, since, "Its handlers are busy all the time while its backlog grows: concurrency of the catalogue lets more of them run at once.")
	}
	if run > left {
		l.say(Good, since, "%s for more than a second, the longest for %s.", have(run-left, "handler has run", "handlers have run"), l.span(since))
	}
}

// rest says where it stands if nothing keeps it.
func (l *looking) rest() {
	if n := l.of.Suspended; n > 0 {
		l.say(Good, time.Time{}, "%s in a step of its handler.", have(n, "delivery waits", "deliveries wait"))
	}
	if n := l.of.Later - l.of.Suspended; n > 0 && l.alive() {
		if behind := l.of.Waiting - l.of.Later - l.parked(); behind > 0 {
			l.say(Warn, time.Time{}, "%s behind an earlier one of a strict order, which comes again %s.",
				have(behind, "delivery waits", "deliveries wait"), l.ago(l.of.NextDue))
		}
		l.say(Good, time.Time{}, "%s for a retry, a delay or a snooze, the first is due %s.", have(n, "delivery waits", "deliveries wait"), l.ago(l.of.NextDue))
	}
	switch {
	case len(l.reasons) > 0:
	case l.of.Backlog == 0:
		l.say(Good, time.Time{}, "It has handled everything.")
	case l.limited():
	default:
		l.say(Good, l.of.Oldest, "It goes on: %s to be handled, the oldest from %s.", have(l.of.Backlog, "event is", "events are"), l.ago(l.of.Oldest))
	}
}

// parked counts the deliveries that wait for a limit, a key or the like.
func (l *looking) parked() (n int) {
	for _, waitlist := range l.bus.Waitlists {
		if waitlist.Subscription == l.of.Name {
			n += waitlist.Waiting
		}
	}
	return n
}

// limited says which limit others hold while it has a backlog and no handler at work: a few deliveries wait for it in
// memory, so the log does not know what they wait for.
func (l *looking) limited() bool {
	for _, r := range l.bus.Running {
		for _, p := range r.Limits {
			l.say(Warn, l.of.Oldest, "%s to be handled, the oldest from %s. If it uses limit %s, it waits for %s, whose handler has held that for %s.",
				have(l.of.Backlog, "event is", "events are"), l.ago(l.of.Oldest), p.Limit, r.Subscription, l.span(r.Started))
			return true
		}
	}
	return false
}

// have is a number with a thing: "1 key is", "1,200 keys are".
func have(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return words.Number(n) + " " + many
}

// some names the first few of all keys.
func some(keys []string, all int) string {
	text := strings.Join(keys[:min(len(keys), shown)], ", ")
	if more := all - min(len(keys), shown); more > 0 {
		text += fmt.Sprintf(" and %s more", words.Number(more))
	}
	return text
}
