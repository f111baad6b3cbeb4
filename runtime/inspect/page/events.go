package page

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var eventsSheet = sheet{path: "events", title: "Events", menu: true, live: true, template: "events", fill: fillEvents}

// eventsData is the Data of the page "Events".
type eventsData struct {
	Form     eventForm
	Types    []string
	Names    []string // of subscriptions
	Statuses []string
	States   []string
	Why      string // what was typed is refused; empty if it is not
	Rows     []eventRow
	Next     string    // the address of the next page; empty for none
	Looked   int       // events that were looked through, if there are more
	Back     time.Time // how far
	CLI      string
	Tail     string    // follows the log by command
	Chosen   bool      // there are conditions
	Begins   time.Time // where the search begins in the log, if events were published since
}

// eventForm is what was asked for.
type eventForm struct{ Type, Status, Subscription, State, Since, Until, Correlation, Text string }

// eventRow is an event of a list.
type eventRow struct {
	event.Event
	Brief string
}

// eventsOnPage is how many events a page of the list has.
const eventsOnPage = 50

// A page looks through so many events at most; through fewer if it asks for each of them what
// became of it, or of each of its deliveries.
var mostLooked, mostLookedByStatus, mostLookedByState = 10_000, 2_000, 1_000

func fillEvents(q *request) (any, error) {
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	form := eventForm{
		Type: q.FormValue("type"), Status: q.FormValue("status"), Subscription: q.FormValue("subscription"), State: q.FormValue("state"),
		Since: q.FormValue("since"), Until: q.FormValue("until"), Correlation: q.FormValue("correlation"), Text: q.FormValue("text"),
	}
	names, err := q.file().Names(q.Context())
	if err != nil {
		return nil, err
	}
	data := &eventsData{Form: form, Types: names.Types, Names: names.Subscriptions, Statuses: inspect.Statuses(), States: inspect.States()}
	filter, flags, err := form.filter()
	if err == nil {
		err = refused(beforehand.Subscriptions(q.Context(), q.file(), filter.Subscriptions))
	}
	data.CLI, data.Tail = commandline.Of("events list", flags, target), commandline.Of("events tail", form.tailFlags(), target)
	if err != nil {
		data.Why = texts.Clip(err.Error(), texts.MostBytes)
		return nil, &formAgain{nil, data, err}
	}
	q.still = q.FormValue("after") != "" || !filter.Until.IsZero() && filter.Until.Before(q.now)
	most := mostLooked
	switch {
	case filter.State != "" || len(filter.Subscriptions) > 0:
		most = mostLookedByState
	case filter.Status != "":
		most = mostLookedByStatus
	}
	found, err := q.file().SearchEvents(q.Context(), filter, event.Page{After: q.FormValue("after"), Limit: eventsOnPage}, most)
	if err != nil {
		return nil, err
	}
	data.Chosen = len(flags) > 0
	if begins := filter.Until.Add(time.Hour); !filter.Until.IsZero() && begins.Before(q.now) {
		data.Begins = begins
	}
	if !found.Back.IsZero() {
		data.Looked, data.Back = most, found.Back
	}
	for _, e := range found.Events {
		data.Rows = append(data.Rows, eventRow{e, texts.BriefText(e.Payload)})
	}
	if found.Next != "" {
		data.Next = form.address(found.Next)
	}
	return data, nil
}

// address is that of a page of the list.
func (f eventForm) address(after string) string {
	values := url.Values{}
	for name, value := range map[string]string{
		"type": f.Type, "status": f.Status, "subscription": f.Subscription, "state": f.State, "since": f.Since, "until": f.Until, "correlation": f.Correlation, "text": f.Text, "after": after,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return "./events?" + values.Encode()
}

// filter returns what a form asks for, and the flags that ask a command for it.
func (f eventForm) filter() (filter event.Filter, flags []string, err error) {
	filter = event.Filter{Status: f.Status, State: f.State, CorrelationID: f.Correlation, Text: f.Text}
	if f.Subscription != "" {
		filter.Subscriptions = []string{f.Subscription}
	}
	if f.State != "" && !slices.Contains(inspect.States(), f.State) {
		return filter, nil, refusal.BadRequest("There is no such state of a delivery.")
	}
	if f.Status != "" && !slices.Contains(inspect.Statuses(), f.Status) {
		return filter, nil, refusal.BadRequest("There is no such status.")
	}
	if f.Type != "" {
		filter.Types = strings.Fields(f.Type)
		for _, one := range filter.Types {
			flags = append(flags, "--type", one)
		}
	}
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, name, value)
		}
	}
	add("--status", f.Status)
	add("--subscription", f.Subscription)
	add("--state", f.State)
	if filter.Since, err = texts.TimeOf(f.Since); err != nil {
		return filter, nil, err
	}
	if filter.Until, err = texts.TimeOf(f.Until); err != nil {
		return filter, nil, err
	}
	add("--since", texts.Stamp(filter.Since))
	add("--until", texts.Stamp(filter.Until))
	add("--correlation", f.Correlation)
	add("--text", f.Text)
	return filter, flags, nil
}

// tailFlags are those of the form that the command "events tail" has.
func (f eventForm) tailFlags() []string {
	f.Status, f.Subscription, f.State, f.Since, f.Until = "", "", "", "", ""
	_, flags, _ := f.filter()
	return flags
}
