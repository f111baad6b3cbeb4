package page

import (
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
	"github.com/busgen/busgen/runtime/internal/engine"
)

var auditSheet = sheet{path: "audit", title: "Audit", menu: true, template: "audit", fill: fillAudit}

// auditData is the Data of the page "Audit".
type auditData struct {
	Form    auditForm
	Actions []string
	Rows    []auditRow
	Next    string // the address of the next page; empty for none
	CLI     string
	Chosen  bool
	Why     string // what was typed is refused; empty if it is not
}

// auditForm is what was asked for.
type auditForm struct{ Actor, Action, Subscription, Since, Until string }

// auditRow is an entry of the audit.
type auditRow struct {
	event.AuditEntry
	Detail texts.Long
	One    bool // it is about one event
}

func fillAudit(q *request) (any, error) {
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	form := auditForm{q.FormValue("actor"), q.FormValue("action"), q.FormValue("subscription"), q.FormValue("since"), q.FormValue("until")}
	filter, flags, err := form.filter()
	if err != nil {
		return nil, &formAgain{nil, &auditData{Form: form, Actions: inspect.Actions(), CLI: commandline.Of("audit list", nil, target), Why: err.Error()}, err}
	}
	entries, next, err := q.file().Audit(q.Context(), filter, event.Page{After: q.FormValue("after"), Limit: eventsOnPage})
	if err != nil {
		return nil, err
	}
	data := &auditData{Form: form, Actions: inspect.Actions(), CLI: commandline.Of("audit list", flags, target), Chosen: len(flags) > 0}
	for _, e := range entries {
		data.Rows = append(data.Rows, auditRow{e, texts.CutAt(texts.MostValue, e.Detail, "audit", "entry", strconv.FormatInt(e.ID, 10)), e.EventID != uuid.Nil})
	}
	if next != "" {
		data.Next = form.address(next)
	}
	return data, nil
}

// filter returns what a form asks for, and the flags that ask a command for it.
func (f auditForm) filter() (filter event.AuditFilter, flags []string, err error) {
	filter = event.AuditFilter{Actor: f.Actor, Subscription: f.Subscription}
	if f.Action != "" {
		if !slices.Contains(inspect.Actions(), f.Action) {
			return filter, nil, refusal.BadRequest("There is no such action.")
		}
		filter.Actions = []string{f.Action}
	}
	if filter.Since, err = texts.TimeOf(f.Since); err != nil {
		return filter, nil, err
	}
	if filter.Until, err = texts.TimeOf(f.Until); err != nil {
		return filter, nil, err
	}
	for _, one := range [][2]string{
		{"--actor", f.Actor}, {"--action", f.Action}, {"--subscription", f.Subscription}, {"--since", texts.Stamp(filter.Since)}, {"--until", texts.Stamp(filter.Until)},
	} {
		if one[1] != "" {
			flags = append(flags, one[0], one[1])
		}
	}
	return filter, flags, nil
}

// address is that of a page of the list.
func (f auditForm) address(after string) string {
	values := url.Values{}
	for name, value := range map[string]string{
		"actor": f.Actor, "action": f.Action, "subscription": f.Subscription, "since": f.Since, "until": f.Until, "after": after,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return "./audit?" + values.Encode()
}

// auditText is what an entry of the audit says in words.
func auditText(q *request) (string, error) {
	id, err := strconv.ParseInt(q.FormValue("entry"), 10, 64)
	if err != nil || id < 0 || id == math.MaxInt64 {
		return "", refusal.BadRequest("There is no such entry.")
	}
	entries, _, err := q.file().Audit(q.Context(), event.AuditFilter{}, event.Page{After: engine.CursorAt(id + 1), Limit: 1})
	if err != nil {
		return "", err
	}
	if len(entries) == 0 || entries[0].ID != id {
		return "", refusal.BadRequest("There is no such entry.")
	}
	return entries[0].Detail, nil
}
