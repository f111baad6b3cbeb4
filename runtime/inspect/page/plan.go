package page

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

var planSheet = sheet{path: "plan", title: "Dry run", template: "plan", fill: fillPlan}

// plan is the Data of the page that says what a job would do, before it begins. Nothing
// is changed by looking at it.
type plan struct {
	order
	Message string // of its newest letter
	CLI     string
	Fields  []field
	InWay   []inWay // of a retry
}

// inWay is what keeps a subscription from handling letters that are retried.
type inWay struct {
	Name, Href string
	Why        []standing.Reason
}

// inWayOf says what stands in the way of the letters of a group.
func (q *request) inWayOf(group string) (all []inWay, err error) {
	g, err := q.group(group)
	if err != nil {
		return nil, err
	}
	status, err := q.file().Status(q.Context())
	if err != nil {
		return nil, err
	}
	for _, name := range g.Subscriptions {
		if why := standing.InWay(status, name); len(why) > 0 {
			all = append(all, inWay{name, subscriptionHref(name), why})
		}
	}
	return all, nil
}

func fillPlan(q *request) (any, error) {
	group, err := opened(q.FormValue("of"))
	if err != nil {
		return nil, err
	}
	o := order{ID: newJobID(q.now), Group: group, Until: q.now.UTC().Truncate(time.Microsecond), Reason: q.FormValue("reason")}
	if err := o.read(q.FormValue); err != nil {
		return nil, err
	}
	if group == "" {
		return nil, badRequest("The address names no group.")
	}
	var damaged error
	if o.Part, err = readPart(unsealing(q.FormValue, &damaged)); err != nil || damaged != nil {
		return nil, cmp.Or(damaged, err)
	}
	newest, _, err := q.file().DeadLetters(q.Context(), event.Filter{Group: group}, event.Page{Limit: 1})
	if err == nil && len(newest) == 0 {
		err = &event.NotFoundError{Thing: "group of dead letters", Name: group}
	}
	if err != nil {
		return nil, err
	}
	if newest[0].DeadAt.After(o.Until) {
		o.Until = newest[0].DeadAt // by the clock of another machine
	}
	if until := o.Part.Until; !until.IsZero() && until.Before(o.Until) {
		o.Until = until
	}
	o.Part.Until = time.Time{}
	if o.Of, err = q.file().CountDeadLetters(q.Context(), o.filter()); err != nil {
		return nil, err
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	message := cutAt(errorShown, newest[0].LastAttempt().Error, "").Text
	data := plan{order: o, Message: message, CLI: o.commandLine(target, 0)}
	if o.Kind == kindRetry && o.Wanted() > 0 {
		if data.InWay, err = q.inWayOf(group); err != nil {
			return nil, err
		}
	}
	for name, value := range map[string]string{
		"id": o.ID.String(), "kind": o.Kind, "group": o.Group, "until": o.Until.Format(time.RFC3339Nano), "of": strconv.Itoa(o.Of), "reason": o.Reason,
		"limit": strconv.Itoa(o.Limit), "canary": strconv.Itoa(o.Canary), "rate": strconv.FormatFloat(o.Rate, 'g', -1, 64),
	} {
		data.Fields = append(data.Fields, sealedField(name, value))
	}
	data.Fields = append(data.Fields, o.Part.fields()...)
	return data, nil
}

// gentleRate is how many letters per second a job changes unless it is asked for another rate.
// Publishers keep at least nine tenths of their speed beside it. With 0 a job is as fast as it
// can be.
const gentleRate = 500

// read reads what an operator can choose.
func (o *order) read(value func(string) string) error {
	o.Kind = value("kind")
	if o.Kind != kindRetry && o.Kind != kindDiscard {
		return badRequest("Choose whether to retry or to discard.")
	}
	if o.Kind == kindDiscard && strings.TrimSpace(o.Reason) == "" {
		return badRequest("Say why the dead letters need not be handled.")
	}
	for name, to := range map[string]*int{"limit": &o.Limit, "canary": &o.Canary} {
		if text := strings.TrimSpace(value(name)); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > 1e9 {
				return badRequest(fmt.Sprintf("The %s is no number of dead letters.", name))
			}
			*to = n
		}
	}
	if o.Kind == kindDiscard {
		o.Canary = 0
	}
	o.Rate = gentleRate
	if text := strings.TrimSpace(value("rate")); text != "" {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || !(rate >= 0 && rate <= 1e9) {
			return badRequest("The rate is no number of dead letters per second.")
		}
		o.Rate = rate
	}
	return nil
}

// unsealing reads sealed fields. It keeps an error of one that is damaged.
func unsealing(value func(string) string, damaged *error) func(string) string {
	return func(name string) string {
		text, err := opened(value(name))
		if err != nil {
			*damaged = err
		}
		return text
	}
}

// startJobAction begins a job as its plan says, with the letters that were counted. A plan that is posted twice is one job.
func startJobAction(q *request, _ *inspect.File) (done, next string, err error) {
	var damaged error
	value := unsealing(q.PostForm.Get, &damaged)
	o := order{Group: value("group"), Reason: value("reason")}
	if o.ID, err = jobID(value("id")); err != nil {
		return "", "", err
	}
	if err := o.read(value); err != nil {
		return "", "", err
	}
	o.Of, _ = strconv.Atoi(value("of"))
	o.Part, err = readPart(func(name string) string {
		if name == "until" { // it is that of the order
			return ""
		}
		return value(name)
	})
	if err != nil {
		return "", "", err
	}
	if o.Until, err = time.Parse(time.RFC3339Nano, value("until")); err != nil || damaged != nil || o.Group == "" || o.Of <= 0 {
		return "", "", badRequest("The form is damaged. Nothing was changed.")
	}
	const already = "This job was begun before: it is one job."
	switch _, err := q.job(o.ID.String()); {
	case err == nil:
		return already, o.Href(), nil
	case statusOf(err) != http.StatusNotFound:
		return "", "", err
	}
	switch err := q.page.start(o, q.actor); {
	case errors.Is(err, errDoing): // a moment ago
		return already, o.Href(), nil
	case err != nil:
		return "", "", err
	}
	return "The job has begun.", o.Href(), nil
}
