package page

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/chart"
	"github.com/busgen/busgen/runtime/inspect/page/internal/looks"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
	"github.com/busgen/busgen/runtime/inspect/page/internal/typeinfo"
)

var subscriptionsSheet = sheet{path: "subscriptions", title: "Subscriptions", menu: true, template: "subscriptions", fill: fillSubscriptions}

// subscriptionsData is the Data of the page "Subscriptions".
type subscriptionsData struct {
	All   []subscriptionItem
	Known bool // the page has a catalogue
}

// subscriptionItem is a subscription with its settings.
type subscriptionItem struct {
	event.SubscriptionState
	More     bool // the backlog is longer than it was counted
	Doc      string
	Types    []string // that are known, and that its pattern matches
	Settings []typeinfo.Setting
	Of       string // whose settings they are
	Buttons  []button
	Href     string // of its page
}

func fillSubscriptions(q *request) (any, error) {
	status, err := q.file().Status(q.Context())
	if err != nil {
		return nil, err
	}
	types, err := q.typeNames()
	if err != nil {
		return nil, err
	}
	data := &subscriptionsData{Known: q.page.catalogues.Known()}
	for _, s := range status.Subscriptions {
		data.All = append(data.All, q.subscription(status, s, types))
	}
	return data, nil
}

// subscription is a subscription with its settings, and what can be done about it.
func (q *request) subscription(status event.Status, s event.SubscriptionState, types []string) subscriptionItem {
	item := subscriptionItem{SubscriptionState: s, More: s.BacklogAtMost > s.Backlog, Types: typeinfo.Matching(s.Pattern, types), Href: subscriptionHref(s.Name)}
	item.Settings, item.Of = q.page.catalogues.SettingsOf(s.Name, s.Pattern)
	if source := q.page.catalogues.Source; source != nil {
		for _, e := range source.Events {
			for _, declared := range e.Declared() {
				if declared.Name.V == s.Name {
					item.Doc = declared.Doc
				}
			}
		}
	}
	pause := pauseOrResume(status.Path, s)
	pause.Fields = append(pause.Fields, field{"back", "subscriptions"})
	item.Buttons = []button{pause, {
		Dry: replayPlanSheet.path, Label: "Replay", Of: s.Name, Fields: []field{sealedField("subscription", s.Name)},
		Ask: []ask{{"from", "From: beginning, a time in UTC (2026-03-14T12:30), or the id of an event"}},
		CLI: commandline.Of("events replay", []string{"--subscription", s.Name, "--since", "…"}, status.Path),
	}}
	return item
}

var subscriptionSheet = sheet{path: "subscription", title: "Subscription", live: true, template: "subscription", fill: fillSubscription}

// subscriptionData is the Data of the page of a subscription.
type subscriptionData struct {
	subscriptionItem
	Known     bool // the page has a catalogue
	Why       []standing.Reason
	Breakers  []breakerRow
	Waitlists []standing.Waitlist
	Working   []event.Running
	Problems  []problem
	More      int          // causes that are not shown
	Rate      string       // how fast it works, in words; empty if that is not known yet
	Hour      *chart.Spark // its dead letters of the last hour; nil for none
	Waits     []waitingRow
	AllWaits  string // the address of all that waits
	Errors    []letterRow
	Counted   bool   // all of its backlog was counted
	CLI       string // the same by command
}

// causesShown is how many causes of dead letters the page of a subscription shows, waitsShown how many deliveries that
// wait, and errorsShown how many errors.
const (
	causesShown = 10
	waitsShown  = 10
	errorsShown = 5
)

// subscriptionHref is where a subscription is shown.
func subscriptionHref(name string) string {
	return "./subscription?" + url.Values{"name": {name}}.Encode()
}

func fillSubscription(q *request) (any, error) {
	name := q.FormValue("name")
	if name == "" {
		return nil, refusal.BadRequest("The address names no subscription.")
	}
	hour, err := q.hourOf(name) // before this request has a file: counting needs one
	if err != nil {
		return nil, err
	}
	status, err := q.page.rates.Status(q.Context(), q.file(), q.now)
	if err != nil {
		return nil, err
	}
	why, known := standing.Of(status, name)
	if !known {
		return nil, &event.NotFoundError{Thing: "subscription", Name: name}
	}
	types, err := q.typeNames()
	if err != nil {
		return nil, err
	}
	data := subscriptionData{Known: q.page.catalogues.Known(), Why: why, Hour: hour, CLI: commandline.Of("subscriptions show", nil, status.Path, name)}
	for _, s := range status.Subscriptions {
		if s.Name == name {
			data.subscriptionItem = q.subscription(status, s, types)
			data.Counted, data.Rate = !data.subscriptionItem.More, looks.RateWords(status, s)
		}
	}
	for _, b := range status.Breakers {
		if b.Subscription == name || b.Group == name {
			data.Breakers = append(data.Breakers, breakerRow{b, texts.Cut(b.LastError, "breaker", "subscription", b.Subscription, "key", b.Key), closeBreaker(status.Path, b.Subscription, b.Key)})
		}
	}
	data.Waitlists = standing.Waitlists(status.Waitlists, status.Running)
	data.Waitlists = slices.DeleteFunc(data.Waitlists, func(l standing.Waitlist) bool { return l.Subscription != name })
	for _, r := range status.Running {
		if cmp.Or(r.Group, r.Subscription) == name {
			data.Working = append(data.Working, r)
		}
	}
	if data.Waiting > 0 {
		form := retriesForm{Subscription: name}
		data.AllWaits = form.address()
		if data.Waits, _, _, err = q.waits(form, status.Path, waitsShown); err != nil {
			return nil, err
		}
	}
	if data.Dead > 0 {
		if err := data.addErrors(q, name, status.Path); err != nil {
			return nil, err
		}
	}
	causes, err := q.causes()
	if err != nil {
		return nil, err
	}
	for _, g := range causes.groups {
		switch {
		case !slices.Contains(g.Subscriptions, name):
		case len(data.Problems) == causesShown:
			data.More++
		default:
			data.Problems = append(data.Problems, problem{FailureGroup: g, Message: cutGroup(g), Href: groupHref(g.Fingerprint), Sample: letterHref(g.Sample)})
		}
	}
	return data, nil
}

// addErrors adds the dead letters that died last.
func (d *subscriptionData) addErrors(q *request, name, target string) error {
	letters, _, err := q.file().DeadLetters(q.Context(), event.Filter{Subscriptions: []string{name}}, event.Page{Limit: errorsShown})
	for _, one := range letters {
		d.Errors = append(d.Errors, rowOf(one, target, errorShown))
	}
	return err
}
