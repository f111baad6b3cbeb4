package page

import (
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
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
	Settings []settingRow
	Of       string // whose settings they are
	Buttons  []button
	Href     string // of its page
}

// knowsSettings tells whether the page has a catalogue.
func (p *Page) knowsSettings() bool { return p.source != nil || p.built != nil }

func fillSubscriptions(q *request) (any, error) {
	status, err := q.file().Status(q.Context())
	if err != nil {
		return nil, err
	}
	types, err := q.typeNames()
	if err != nil {
		return nil, err
	}
	data := &subscriptionsData{Known: q.page.knowsSettings()}
	for _, s := range status.Subscriptions {
		data.All = append(data.All, q.subscription(status, s, types))
	}
	return data, nil
}

// subscription is a subscription with its settings, and what can be done about it.
func (q *request) subscription(status event.Status, s event.SubscriptionState, types []string) subscriptionItem {
	item := subscriptionItem{SubscriptionState: s, More: s.BacklogAtMost > s.Backlog, Types: matching(s.Pattern, types), Href: subscriptionHref(s.Name)}
	item.Settings, item.Of = q.page.settingsOf(s.Name, s.Pattern)
	if source := q.page.source; source != nil {
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
