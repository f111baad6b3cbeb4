package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/chart"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
	"github.com/busgen/busgen/runtime/inspect/page/internal/typeinfo"
)

var eventSheet = sheet{path: "event", title: "Event", template: "event", fill: fillEvent}

// eventData is the Data of the page "Event".
type eventData struct {
	event.EventHistory
	Known      typeinfo.Type
	Shown      texts.Long // the payload
	Rows       []typeinfo.Row
	Meta       []metadatum
	Deliveries []deliveryRow
	Axis       chart.Axis
	Tree       *tree
	Raw        texts.Long
	CLI        string
	Export     string // the address of incident.html
}

// metadatum is an entry of the metadata.
type metadatum struct {
	Name  string
	Value texts.Long
}

// deliveryRow is a delivery with its place on the time axis, and what can be done about it.
type deliveryRow struct {
	event.DeliveryState
	Attempts []attemptRow // the last first
	Marks    []chart.Mark
	Next     []chart.Prediction
	Later    int  // predictions that are not shown
	Known    bool // the policy that predicts the retries is known
	Running  []event.Running
	Buttons  []button
	Why      texts.Long // the reason
	Steps    []stepRow
	Before   int // steps that are not shown
	InSteps  string
	StepsCLI string
}

// stepRow is a step of the handler.
type stepRow struct {
	standing.Step
	Says texts.Long
}

// mostSteps is how many steps of a delivery are shown, the newest.
const mostSteps = 200

// attemptRow is a failed attempt.
type attemptRow struct {
	event.FailedAttempt
	Number int
	Took   time.Duration
	Error  texts.Long
	Stack  texts.Long
	Log    texts.Long
	Last   bool
}

// eventOf returns the event that an address names, by the beginning of its id.
func (q *request) eventOf() (event.EventHistory, error) {
	prefix := strings.TrimSpace(q.FormValue("id"))
	if prefix == "" {
		return event.EventHistory{}, refusal.BadRequest("The address names no event.")
	}
	if strings.Trim(prefix, "0123456789abcdefABCDEF-") != "" {
		return event.EventHistory{}, refusal.BadRequest("This is not the id of an event, or the beginning of one: want hexadecimal digits, as in 018f4f2e-1c3a-7b21.")
	}
	id, err := q.file().FindEvent(q.Context(), prefix)
	if err != nil {
		return event.EventHistory{}, err
	}
	return q.file().Event(q.Context(), id)
}

func fillEvent(q *request) (any, error) {
	event, err := q.eventOf()
	if err != nil {
		return nil, err
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	known, err := q.typeOf(event.Type)
	if err != nil {
		return nil, err
	}
	id := event.ID.String()
	e := &eventData{
		EventHistory: event,
		Known:        known,
		Shown:        texts.Cut(texts.Pretty(event.Payload), "payload", "id", id),
		Rows:         typeinfo.Rows(known.FieldsOf(event.Version), event.Payload),
		Raw:          texts.Cut(rawRow(event), "row", "id", id),
		CLI:          commandline.Of("events show", nil, target, id),
		Export:       "./incident.html?id=" + id,
	}
	var metadata map[string]string
	json.Unmarshal(event.Metadata, &metadata)
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		e.Meta = append(e.Meta, metadatum{name, texts.Cut(metadata[name], "metadata", "id", id, "name", name)})
	}
	for _, d := range event.Deliveries {
		row := deliveryOf(event, d, known, target)
		q.steps(&row, event.ID.String(), target)
		e.Deliveries = append(e.Deliveries, row)
	}
	e.spread(q.now)
	if e.Tree, err = q.treeAround(event.ID, target); err != nil {
		return nil, err
	}
	return e, nil
}

// spread lays the deliveries on one time axis.
func (e *eventData) spread(now time.Time) {
	var all []chart.Course
	for _, d := range e.Deliveries {
		all = append(all, chart.Course{DeliveryState: d.DeliveryState, Next: d.Next})
	}
	var marks [][]chart.Mark
	e.Axis, marks = chart.Spread(now, e.PublishedAt, all)
	for i := range marks {
		e.Deliveries[i].Marks = marks[i]
	}
}

// mostPredicted is how many retries of a delivery are predicted.
const mostPredicted = 20

// deliveryOf prepares a delivery for the page.
func deliveryOf(e event.EventHistory, d event.DeliveryState, known typeinfo.Type, target string) deliveryRow {
	row := deliveryRow{
		DeliveryState: d, Buttons: deliveryButtons(target, e.Event, d),
		Why: texts.Cut(d.Reason, "reason", "id", e.ID.String(), "subscription", d.Subscription),
	}
	for _, r := range e.Running {
		if r.Subscription == d.Subscription || r.Group == d.Subscription {
			row.Running = append(row.Running, r)
		}
	}
	for i, a := range d.Attempts {
		param := func(of string) []string {
			return []string{"id", e.ID.String(), "subscription", d.Subscription, "attempt", fmt.Sprint(i + 1), "part", of}
		}
		one := attemptRow{
			FailedAttempt: a, Number: i + 1, Last: i == len(d.Attempts)-1,
			Error: texts.Cut(a.Error, "attempt", param("error")...),
			Stack: texts.Cut(a.Stack, "attempt", param("stack")...),
			Log:   texts.Cut(a.Log, "attempt", param("log")...),
		}
		if !a.Started.IsZero() {
			one.Took = a.Ended.Sub(a.Started)
		}
		row.Attempts = append([]attemptRow{one}, row.Attempts...)
	}
	if d.Suspended { // its steps say for what it waits
		return row
	}
	if policy, ok := known.Policy(d.Subscription); ok {
		row.Known, row.Next = true, chart.Predict(policy, e.ID, d)
		if more := len(row.Next) - mostPredicted; more > 0 {
			row.Next, row.Later = row.Next[:mostPredicted], more
		}
	} else if d.State == event.StateWaiting && !d.Due.IsZero() {
		row.Next = chart.PredictOne(d)
	}
	return row
}

// steps prepares the steps of a delivery.
func (q *request) steps(row *deliveryRow, id, target string) {
	if len(row.DeliveryState.Steps) == 0 {
		return
	}
	all := standing.Steps(row.DeliveryState, q.moment)
	row.Before = max(0, len(all)-mostSteps)
	row.InSteps = standing.InSteps(row.DeliveryState, q.moment)
	row.StepsCLI = commandline.Of("events steps", []string{"--subscription", row.Subscription}, target, id)
	for _, s := range all[row.Before:] {
		row.Steps = append(row.Steps, stepRow{s, texts.CutAt(mostResult, s.Says, "step", "id", id, "subscription", row.Subscription,
			"run", fmt.Sprint(s.Run), "member", s.Member, "name", s.Name)})
	}
}

// mostResult is how many bytes of the result of a step are shown.
const mostResult = 300

// moment writes a time for a sentence.
func (q *request) moment(t time.Time) string { return words.Time(t, q.now) }

// stepText is the whole result of a step.
func stepText(q *request) (string, error) {
	d, err := q.deliveryNamed()
	if err != nil {
		return "", err
	}
	for _, s := range standing.Steps(d, q.moment) {
		if fmt.Sprint(s.Run) == q.FormValue("run") && s.Member == q.FormValue("member") && s.Name == q.FormValue("name") {
			return s.Says, nil
		}
	}
	return "", refusal.BadRequest("There is no such step.")
}

// rawRow is an event as the file has it, as JSON.
func rawRow(e event.EventHistory) string {
	payload := e.Payload
	if !json.Valid(payload) {
		payload, _ = json.Marshal(string(payload))
	}
	row := struct {
		Seq         int64           `json:"seq"`
		ID          uuid.UUID       `json:"id"`
		Type        string          `json:"type"`
		Version     int             `json:"version"`
		PublishedAt time.Time       `json:"published_at"`
		Due         time.Time       `json:"due_at,omitzero"`
		Metadata    json.RawMessage `json:"metadata,omitempty"`
		Payload     json.RawMessage `json:"payload"`
	}{e.Seq, e.ID, e.Type, e.Version, e.PublishedAt, e.Due, e.Metadata, payload}
	text, err := json.Marshal(row)
	if err != nil {
		return err.Error()
	}
	return texts.Pretty(text)
}

// payloadText is a whole payload.
func payloadText(q *request) (string, error) {
	event, err := q.eventOf()
	if err != nil {
		return "", err
	}
	return texts.Pretty(event.Payload), nil
}

// rowText is a whole event as the file has it.
func rowText(q *request) (string, error) {
	event, err := q.eventOf()
	if err != nil {
		return "", err
	}
	return rawRow(event), nil
}

// metadataText is one entry of the metadata.
func metadataText(q *request) (string, error) {
	event, err := q.eventOf()
	if err != nil {
		return "", err
	}
	var metadata map[string]string
	json.Unmarshal(event.Metadata, &metadata)
	return metadata[q.FormValue("name")], nil
}

// deliveryNamed returns the delivery that an address names.
func (q *request) deliveryNamed() (event.DeliveryState, error) {
	one, err := q.eventOf()
	if err != nil {
		return event.DeliveryState{}, err
	}
	for _, d := range one.Deliveries {
		if d.Subscription == q.FormValue("subscription") {
			return d, nil
		}
	}
	return event.DeliveryState{}, &event.NotFoundError{Thing: "delivery of this event to", Name: q.FormValue("subscription")}
}

// reasonText is why a delivery was discarded.
func reasonText(q *request) (string, error) {
	d, err := q.deliveryNamed()
	return d.Reason, err
}

// attemptText is a part of a failed attempt.
func attemptText(q *request) (string, error) {
	d, err := q.deliveryNamed()
	if err != nil {
		return "", err
	}
	for i, a := range d.Attempts {
		if fmt.Sprint(i+1) == q.FormValue("attempt") {
			switch q.FormValue("part") {
			case "error":
				return a.Error, nil
			case "stack":
				return a.Stack, nil
			case "log":
				return a.Log, nil
			}
		}
	}
	return "", refusal.BadRequest("There is no such attempt.")
}
