package page

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/job"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var planSheet = sheet{path: "plan", title: "Dry run", template: "plan", fill: fillPlan}

// plan is the Data of the page that says what a job would do, before it begins. Nothing
// is changed by looking at it.
type plan struct {
	job.Order
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
	group, err := texts.Opened(q.FormValue("of"))
	if err != nil {
		return nil, err
	}
	o := job.Order{ID: job.NewID(q.now), Group: group, Until: q.now.UTC().Truncate(time.Microsecond), Reason: q.FormValue("reason")}
	if err := o.Read(q.FormValue); err != nil {
		return nil, err
	}
	if group == "" {
		return nil, refusal.BadRequest("The address names no group.")
	}
	var damaged error
	if o.Part, err = job.ReadPart(texts.Unsealing(q.FormValue, &damaged)); err != nil || damaged != nil {
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
	if o.Of, err = q.file().CountDeadLetters(q.Context(), o.Filter()); err != nil {
		return nil, err
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	message := texts.CutAt(errorShown, newest[0].LastAttempt().Error, "").Text
	data := plan{Order: o, Message: message, CLI: o.CommandLine(target, 0)}
	if o.Kind == job.Retry && o.Wanted() > 0 {
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
	data.Fields = append(data.Fields, fieldsOf(o.Part)...)
	return data, nil
}

// startJobAction begins a job as its plan says, with the letters that were counted. A plan that is posted twice is one job.
func startJobAction(q *request, _ *inspect.File) (done, next string, err error) {
	var damaged error
	value := texts.Unsealing(q.PostForm.Get, &damaged)
	o := job.Order{Group: value("group"), Reason: value("reason")}
	if o.ID, err = job.ParseID(value("id")); err != nil {
		return "", "", err
	}
	if err := o.Read(value); err != nil {
		return "", "", err
	}
	o.Of, _ = strconv.Atoi(value("of"))
	o.Part, err = job.ReadPart(func(name string) string {
		if name == "until" { // it is that of the order
			return ""
		}
		return value(name)
	})
	if err != nil {
		return "", "", err
	}
	if o.Until, err = time.Parse(time.RFC3339Nano, value("until")); err != nil || damaged != nil || o.Group == "" || o.Of <= 0 {
		return "", "", refusal.BadRequest("The form is damaged. Nothing was changed.")
	}
	const already = "This job was begun before: it is one job."
	switch _, err := q.job(o.ID.String()); {
	case err == nil:
		return already, o.Href(), nil
	case refusal.StatusOf(err) != http.StatusNotFound:
		return "", "", err
	}
	switch err := q.page.work.Start(q.page.closing, q.page.file, o, q.actor); {
	case errors.Is(err, job.ErrDoing): // a moment ago
		return already, o.Href(), nil
	case err != nil:
		return "", "", err
	}
	return "The job has begun.", o.Href(), nil
}
