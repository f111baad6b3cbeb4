package page

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
)

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
	More      int    // causes that are not shown
	Rate      string // how fast it works, in words; empty if that is not known yet
	Hour      *spark // its dead letters of the last hour; nil for none
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
		return nil, badRequest("The address names no subscription.")
	}
	hour, err := q.hourOf(name) // before this request has a file: counting needs one
	if err != nil {
		return nil, err
	}
	status, err := q.page.rates.status(q)
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
	data := subscriptionData{Known: q.page.knowsSettings(), Why: why, Hour: hour, CLI: commandline.Of("subscriptions show", nil, status.Path, name)}
	for _, s := range status.Subscriptions {
		if s.Name == name {
			data.subscriptionItem = q.subscription(status, s, types)
			data.Counted, data.Rate = !data.subscriptionItem.More, rateWords(status, s)
		}
	}
	for _, b := range status.Breakers {
		if b.Subscription == name || b.Group == name {
			data.Breakers = append(data.Breakers, breakerRow{b, cut(b.LastError, "breaker", "subscription", b.Subscription, "key", b.Key), closeBreaker(status.Path, b.Subscription, b.Key)})
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
