package page

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/inspect"
)

var subscriptionsSheet = sheet{path: "subscriptions", title: "Subscriptions", menu: true, template: "subscriptions", fill: fillSubscriptions}

// subscriptionsData is the Data of the page "Subscriptions".
type subscriptionsData struct {
	All   []subscriptionItem
	Known bool // the page has a catalogue
}

// subscriptionItem is a subscription with its settings.
type subscriptionItem struct {
	inspect.SubscriptionState
	More     bool // the backlog is longer than it was counted
	Doc      string
	Types    []string // that are known, and that its pattern matches
	Settings []settingRow
	Of       string // whose settings they are
	Buttons  []button
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
	data := &subscriptionsData{Known: q.page.source != nil || q.page.built != nil}
	for _, s := range status.Subscriptions {
		item := subscriptionItem{SubscriptionState: s, More: s.BacklogAtMost > s.Backlog, Types: matching(s.Pattern, types)}
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
			Action: "rewind", Label: "Rewind", Of: s.Name, Fields: []field{sealedField("subscription", s.Name)},
			Ask: []ask{{"to", "To: beginning, a time in UTC (2026-03-14T12:30), or the id of an event"}},
			CLI: commandline.Of("subscriptions rewind", []string{"--to", "…"}, status.Path, s.Name),
		}}
		data.All = append(data.All, item)
	}
	return data, nil
}

// mostRewound is how many events a page rewinds: the browser waits for it.
const mostRewound = 10_000

// rewindAction delivers again what a subscription has handled since a place in the log.
func rewindAction(q *request, as *inspect.File) (done, next string, err error) {
	name, err := q.name("subscription")
	if err != nil {
		return "", "", err
	}
	to, err := q.placeIn(as, strings.TrimSpace(q.PostForm.Get("to")))
	if err != nil {
		return "", "", err
	}
	counts, err := as.Rewind(q.Context(), name, to, inspect.Selection{DryRun: true})
	if err != nil {
		return "", "", err
	}
	if counts.Matched > mostRewound {
		return "", "", badRequest("These are " + words.Number(counts.Matched) + " events, more than the page rewinds at once: use the command, with --rate. Nothing was changed.")
	}
	counts, err = as.Rewind(q.Context(), name, to, inspect.Selection{})
	if err != nil {
		return "", "", errors.Join(err, fmt.Errorf("%d were rewound", counts.Moved))
	}
	return fmt.Sprintf("%s handles %s again.", name, words.Counted(counts.Moved, "event")), "subscriptions", nil
}

// placeIn reads where to rewind.
func (q *request) placeIn(as *inspect.File, text string) (inspect.To, error) {
	switch {
	case text == "":
		return inspect.To{}, badRequest("Say where to: beginning, a time, or the id of an event. Nothing was changed.")
	case text == "beginning":
		return inspect.ToBeginning(), nil
	}
	if at, err := timeOf(text); err == nil {
		return inspect.ToTime(at), nil
	}
	if _, err := strconv.ParseUint(text[:min(len(text), 8)], 16, 64); err != nil {
		return inspect.To{}, badRequest("This is neither beginning, nor a time in UTC, nor the id of an event. Nothing was changed.")
	}
	id, err := as.FindEvent(q.Context(), text)
	return inspect.ToEvent(id), err
}
