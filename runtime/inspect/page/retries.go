package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var retriesSheet = sheet{path: "retries", title: "Retries that wait", live: true, template: "retries", fill: fillRetries}

// retriesData is the Data of the page of the deliveries of a subscription that wait.
type retriesData struct {
	Form    retriesForm
	Refused string // why what was typed is refused; empty if it is not
	Rows    []waitingRow
	All     []button // what ends the waits of all that match
	InWay   []standing.Reason
	Matched int  // of which the waits can be ended
	Looked  int  // events that were looked through, if there are more
	More    bool // more than are shown
}

// retriesForm is what was typed: which subscription, and of its deliveries the type of the event and a text of the last error.
type retriesForm struct{ Subscription, Type, Text string }

// waitingRow is a delivery that waits for a time, or for room.
type waitingRow struct {
	event.DeliveryState
	ID    uuid.UUID
	Type  string
	Error texts.Long // of the last attempt
	Same  string     // the address of the deliveries whose last error has the same text
	Now   *button
}

// retriesShown is how many deliveries that wait are on the page.
const retriesShown = 25

// retriesFormOf reads a form.
func retriesFormOf(value func(string) string) retriesForm {
	return retriesForm{value("subscription"), strings.TrimSpace(value("type")), value("text")}
}

// filter chooses the deliveries.
func (f retriesForm) filter() event.Filter {
	return event.Filter{Subscriptions: []string{f.Subscription}, Types: strings.Fields(f.Type), Text: f.Text}
}

// address is where they are shown.
func (f retriesForm) address() string {
	values := url.Values{"subscription": {f.Subscription}}
	if f.Type != "" {
		values.Set("type", f.Type)
	}
	if f.Text != "" {
		values.Set("text", f.Text)
	}
	return "./retries?" + values.Encode()
}

func fillRetries(q *request) (any, error) {
	form := retriesFormOf(q.FormValue)
	if form.Subscription == "" {
		return nil, refusal.BadRequest("The address names no subscription.")
	}
	data := &retriesData{Form: form}
	status, err := q.file().Status(q.Context())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(status.Subscriptions, func(s event.SubscriptionState) bool { return s.Name == form.Subscription }) {
		return nil, &event.NotFoundError{Thing: "subscription", Name: form.Subscription}
	}
	data.InWay = standing.InWay(status, form.Subscription)
	filter, err := beforehand.Filter(q.Context(), q.file(), form.filter())
	if err != nil {
		data.Refused = texts.Clip(refused(err).Error(), texts.MostBytes)
		return nil, &formAgain{nil, data, refused(err)}
	}
	counts, err := q.file().TryNow(q.Context(), inspect.Selection{Filter: filter, DryRun: true})
	if err != nil {
		return nil, err
	}
	if data.Matched = counts.Matched; data.Matched > 0 {
		data.All = append(data.All, form.tryAll(status.Path, data.Matched))
	}
	data.Rows, data.Looked, data.More, err = q.waits(form, status.Path, retriesShown)
	return data, err
}

// waits returns deliveries of the newest events that wait, those that are due first first, and how many events were looked through if
// there are more of them.
func (q *request) waits(form retriesForm, target string, most int) (rows []waitingRow, looked int, more bool, err error) {
	filter := form.filter()
	filter.State = event.StateWaiting
	found, err := q.file().SearchEvents(q.Context(), filter, event.Page{Limit: most}, mostLookedByState)
	if err != nil {
		return nil, 0, false, err
	}
	if !found.Back.IsZero() {
		looked = mostLookedByState
	}
	for _, e := range found.Events {
		history, err := q.file().Event(q.Context(), e.ID)
		if goneIsNone(err) != nil {
			return nil, 0, false, err
		}
		for _, one := range history.Deliveries {
			if one.Subscription == form.Subscription && one.State == event.StateWaiting {
				rows = append(rows, waitingRowOf(form, target, e, one))
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b waitingRow) int { return a.Due.Compare(b.Due) })
	return rows, looked, found.Next != "", nil
}

func waitingRowOf(form retriesForm, target string, e event.Event, d event.DeliveryState) waitingRow {
	row := waitingRow{DeliveryState: d, ID: e.ID, Type: e.Type}
	if n := len(d.Attempts); n > 0 {
		row.Error = texts.Long{Text: texts.Clip(d.Attempts[n-1].Error, errorShown)}
		form.Text, _, _ = strings.Cut(strings.TrimSuffix(row.Error.Text, "…"), "\n")
		row.Same = form.address()
	}
	if waitsToBeTried(e, d) {
		now := tryNowButton(target, e.ID, d.Subscription)
		row.Now = &now
	}
	return row
}

// waitsToBeTried reports whether a delivery waits for a time that an operator can end. A delayed event has not failed.
func waitsToBeTried(e event.Event, d event.DeliveryState) bool {
	return d.State == event.StateWaiting && !d.Suspended && !d.Due.IsZero() && !d.Due.Equal(e.Due)
}

// tryNowButton ends the wait of one delivery.
func tryNowButton(target string, id uuid.UUID, subscription string) button {
	return button{
		Action: "try-now", Label: "Try now", Of: subscription,
		Fields: []field{sealedField("event", id.String()), sealedField("subscription", subscription)},
		CLI:    commandline.Of("events try-now", nil, target, event.Key{EventID: id, Subscription: subscription}.String()),
	}
}

// tryAll ends the waits of all that the form chooses.
func (f retriesForm) tryAll(target string, n int) button {
	fields, flags := []field{sealedField("subscription", f.Subscription)}, []string{"--subscription", f.Subscription}
	if f.Type != "" {
		fields = append(fields, sealedField("type", f.Type))
	}
	for _, one := range strings.Fields(f.Type) {
		flags = append(flags, "--type", one)
	}
	if f.Text != "" {
		fields, flags = append(fields, sealedField("text", f.Text)), append(flags, "--text", f.Text)
	}
	return button{
		Action: "try-now", Label: "Try " + words.Number(min(n, mostReplayed)) + " now", Of: f.Subscription,
		Fields: fields, CLI: commandline.Of("events try-now", flags, target),
	}
}

// tryNowAction ends the waits of one delivery, or of all that a form chooses.
func tryNowAction(q *request, as *inspect.File) (done, next string, err error) {
	var damaged error
	value := texts.Unsealing(q.PostForm.Get, &damaged)
	form, id := retriesFormOf(value), value("event")
	switch {
	case damaged != nil:
		return "", "", damaged
	case form.Subscription == "":
		return "", "", refusal.BadRequest("The form has no subscription.")
	}
	s := inspect.Selection{Filter: form.filter(), Limit: mostReplayed}
	if next = form.address(); id != "" {
		parsed, err := uuid.Parse(id)
		if err != nil {
			return "", "", refusal.BadRequest("The form has no event.")
		}
		s.Filter.Events, next = []uuid.UUID{parsed}, "event?id="+id
	}
	counts, err := as.TryNow(q.Context(), s)
	if err != nil {
		return "", "", refused(err)
	}
	if counts.Moved == 0 {
		return "Nothing waits for a retry any more. Nothing was changed.", next, nil
	}
	return fmt.Sprintf("%s due now, of %s.", areDue(counts.Moved), form.Subscription), next, nil
}

func areDue(n int) string {
	if n == 1 {
		return "1 delivery is"
	}
	return words.Number(n) + " deliveries are"
}
