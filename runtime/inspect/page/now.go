package page

import (
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/chart"
	"github.com/busgen/busgen/runtime/inspect/page/internal/health"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var nowSheet = sheet{path: "", title: "Now", menu: true, live: true, template: "now", fill: fillNow}

// now is the Data of the page "Now".
type now struct {
	event.Status
	Health        health.Health
	Subscriptions []subscriptionRow
	Hour          chart.Hour
	Breakers      []breakerRow
	Pauses        []pauseRow
	PauseTypes    button
	Waitlists     []standing.Waitlist
}

// subscriptionRow is a subscription with what can be done about it.
type subscriptionRow struct {
	event.SubscriptionState
	More   bool // the backlog is longer than it was counted
	Button button
	Href   string // of its page
}

// breakerRow is a circuit breaker that is not closed.
type breakerRow struct {
	event.Breaker
	Error texts.Long
	Close button
}

// pauseRow is a pause.
type pauseRow struct {
	event.PauseState
	Why    texts.Long
	Resume *button // of event types; a subscription has its button in its row
}

func fillNow(q *request) (any, error) {
	hour, err := q.hour() // before this request has a file: counting needs one
	if err != nil {
		return nil, err
	}
	status, err := q.file().Status(q.Context())
	if err != nil {
		return nil, err
	}
	q.page.named(status.Path)
	n := now{Status: status, Hour: hour, Health: health.Of(status), PauseTypes: pauseTypes(status.Path), Waitlists: standing.Waitlists(status.Waitlists, status.Running)}
	for _, s := range status.Subscriptions {
		n.Subscriptions = append(n.Subscriptions, subscriptionRow{s, s.BacklogAtMost > s.Backlog, pauseOrResume(status.Path, s), subscriptionHref(s.Name)})
	}
	for _, b := range status.Breakers {
		n.Breakers = append(n.Breakers, breakerRow{b, texts.Cut(b.LastError, "breaker", "subscription", b.Subscription, "key", b.Key), closeBreaker(status.Path, b.Subscription, b.Key)})
	}
	for _, p := range status.Pauses {
		n.Pauses = append(n.Pauses, pauseRow{p, texts.Cut(p.Reason, "pause", "subscription", p.Subscription, "key", p.Key, "types", p.Types), resumeTypes(status.Path, p)})
	}
	return n, nil
}

// breakerText is the last error of a circuit breaker.
func breakerText(q *request) (string, error) {
	name, key := q.FormValue("subscription"), q.FormValue("key")
	breakers, err := q.file().Breakers(q.Context())
	for _, b := range breakers {
		if b.Subscription == name && b.Key == key {
			return b.LastError, nil
		}
	}
	if err == nil {
		err = &event.NotFoundError{Thing: "open circuit breaker of", Name: name}
	}
	return "", err
}

// pauseText is the reason of a pause.
func pauseText(q *request) (string, error) {
	subscription, key, types := q.FormValue("subscription"), q.FormValue("key"), q.FormValue("types")
	status, err := q.file().Status(q.Context())
	for _, p := range status.Pauses {
		if p.Subscription == subscription && p.Key == key && p.Types == types {
			return p.Reason, nil
		}
	}
	if err == nil {
		err = &event.NotFoundError{Thing: "pause", Name: subscription + types}
	}
	return "", err
}
