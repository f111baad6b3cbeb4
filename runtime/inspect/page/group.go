package page

import (
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/job"
	"github.com/busgen/busgen/runtime/inspect/page/internal/looks"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

var groupSheet = sheet{path: "group", title: "Group", live: true, template: "group", fill: fillGroup}

// groupPage is the Data of the page of a group of dead letters.
type groupPage struct {
	problem
	Of      string // the fingerprint, sealed for a form
	Jobs    []job.Job
	Letters []letterRow
	Next    string   // the address of the letters that died before these; empty for none
	Later   bool     // these are not the first ones
	Part    job.Part // of the letters, on which forms act
	Form    partForm
	Fields  []field // of the part, for the forms
	Match   int     // letters of the part
	Why     string  // what was typed is refused; empty if it is not
}

// GentleRate is what the forms suggest.
func (groupPage) GentleRate() int { return job.GentleRate }

// letterRow is a dead letter with what can be done about it.
type letterRow struct {
	event.DeadLetter
	Error   texts.Long // of the last attempt
	Href    string
	Event   string
	Retry   button
	Discard button
}

// partForm is what was typed to choose a part.
type partForm struct{ Text, Type, Subscription, Correlation, Since, Until string }

// lettersShown is how many letters of a group are on a page, and errorShown how much of
// their errors, in bytes.
const (
	lettersShown = 25
	errorShown   = 300
)

func fillGroup(q *request) (any, error) {
	id := q.FormValue("id")
	jobs, err := q.jobs(func(j job.Job) bool { return j.Group == id })
	if err != nil {
		return nil, err
	}
	data := groupPage{Of: texts.Sealed(id), Jobs: jobs}
	if data.FailureGroup, err = q.group(id); err != nil {
		if _, missing := err.(*event.NotFoundError); missing && len(jobs) > 0 {
			data.Fingerprint = id
			return data, nil // all of it was settled by these jobs
		}
		return nil, err
	}
	data.Message, data.Sample, data.Href = cutGroup(data.FailureGroup), letterHref(data.FailureGroup.Sample), groupHref(id)
	if data.Trend, err = looks.TrendOf(q.Context(), q.file(), data.FailureGroup, q.now); err != nil {
		return nil, err
	}
	data.Form = partForm{
		Text: q.FormValue("text"), Type: q.FormValue("type"), Subscription: q.FormValue("subscription"), Correlation: q.FormValue("correlation"),
		Since: q.FormValue("since"), Until: q.FormValue("until"),
	}
	if data.Part, err = job.ReadPart(q.FormValue); err != nil {
		data.Why = err.Error()
		return nil, &formAgain{nil, data, err}
	}
	data.Fields = fieldsOf(data.Part)
	if data.Match = data.Count; data.Part.Chosen() {
		if data.Match, err = q.file().CountDeadLetters(q.Context(), data.Part.Filter(id)); err != nil {
			return nil, err
		}
		if data.Match == 0 { // a text is searched in all letters of the group: once is enough
			return data, nil
		}
	}
	return data, data.addLetters(q)
}

// addLetters adds a part of the letters, the latest death first.
func (g *groupPage) addLetters(q *request) error {
	target, err := q.target()
	if err != nil {
		return err
	}
	after := q.FormValue("after")
	letters, next, err := q.file().DeadLetters(q.Context(), g.Part.Filter(g.Fingerprint), event.Page{After: after, Limit: lettersShown})
	if err != nil {
		return err
	}
	for _, one := range letters {
		g.Letters = append(g.Letters, rowOf(one, target, errorShown))
	}
	if g.Later = after != ""; next != "" {
		values := g.Part.Values()
		values.Set("id", g.Fingerprint)
		values.Set("after", next)
		g.Next = "./group?" + values.Encode()
	}
	return nil
}

// rowOf is a letter with so many bytes of its error at most.
func rowOf(d event.DeadLetter, target string, most int) letterRow {
	key := []string{"event", d.EventID.String(), "subscription", d.Subscription}
	retry, discard := letterButtons(d.Key, target)
	return letterRow{
		DeadLetter: d, Error: texts.CutAt(most, d.LastAttempt().Error, "letter", key...), Href: letterHref(d.Key), Event: eventHref(d.Key),
		Retry: retry, Discard: discard,
	}
}

// partFields are the fields of a form that choose a part, in its order.
var partFields = []string{"text", "type", "subscription", "correlation", "since", "until"}

// fieldsOf are the fields of a part for a form, sealed.
func fieldsOf(p job.Part) (all []field) {
	v := p.Values()
	for _, name := range partFields {
		if v.Has(name) {
			all = append(all, sealedField(name, v.Get(name)))
		}
	}
	return all
}
