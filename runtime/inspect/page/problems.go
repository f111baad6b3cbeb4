package page

import (
	"net/url"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/job"
	"github.com/busgen/busgen/runtime/inspect/page/internal/looks"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var problemsSheet = sheet{path: "problems", title: "Problems", menu: true, live: true, template: "problems", fill: fillProblems}

// problems is the Data of the page "Problems": the dead letters by their cause.
type problems struct {
	Groups  []problem
	Letters int       // of all groups
	At      time.Time // when they were counted
	Old     bool      // not now
	Jobs    []job.Job // that have work left
}

// problem is a group of dead letters with the same cause.
type problem struct {
	event.FailureGroup
	Message texts.Long
	Trend   looks.Trend
	Href    string // of its page
	Sample  string // the address of its newest letter
}

func fillProblems(q *request) (any, error) {
	known, err := q.causes()
	if err != nil {
		return nil, err
	}
	data := problems{At: known.at, Old: q.now.Sub(known.at) >= time.Second}
	for _, g := range known.groups {
		data.Letters += g.Count
		data.Groups = append(data.Groups, problem{
			FailureGroup: g, Message: cutGroup(g), Trend: known.trends[g.Fingerprint], Href: groupHref(g.Fingerprint), Sample: letterHref(g.Sample),
		})
	}
	data.Jobs, err = q.jobs(func(j job.Job) bool { return j.Doing() || j.Left() > 0 })
	return data, err
}

// cutGroup is the message of a group.
func cutGroup(g event.FailureGroup) texts.Long {
	return texts.Cut(g.Message, "group", "group", g.Fingerprint)
}

// groupText is the message of a group.
func groupText(q *request) (string, error) {
	g, err := q.group(q.URL.Query().Get("group"))
	return g.Message, err
}

// groupHref is where a group is shown.
func groupHref(fingerprint string) string {
	return "./group?" + url.Values{"id": {fingerprint}}.Encode()
}

// letterHref is where a dead letter is shown.
func letterHref(key event.Key) string {
	return "./letter?" + url.Values{"event": {key.EventID.String()}, "subscription": {key.Subscription}}.Encode()
}

// eventHref is where an event is shown.
func eventHref(key event.Key) string {
	return "./event?" + url.Values{"id": {key.EventID.String()}}.Encode()
}

// group returns a group of dead letters, or a *NotFoundError.
func (q *request) group(fingerprint string) (event.FailureGroup, error) {
	if fingerprint == "" {
		return event.FailureGroup{}, refusal.BadRequest("The address names no group.")
	}
	groups, err := q.file().FailureGroups(q.Context(), event.Filter{Group: fingerprint})
	if err == nil && len(groups) == 0 {
		err = &event.NotFoundError{Thing: "group of dead letters", Name: fingerprint}
	}
	if err != nil {
		return event.FailureGroup{}, err
	}
	return groups[0], nil
}
