package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/fingerprint"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// HiddenValue stands in payloads and texts for what a file that is [File.Hiding] does not show.
const HiddenValue = privacy.Hidden

// Hiding returns the same file for people who look: its methods that look replace the values of fields that the
// catalogue calls sensitive by [HiddenValue]. They are hidden in payloads, and where they appear in the metadata of the
// event and in the errors, stacks and logs of its attempts, if they have at least four characters. The fields are known
// from the schemas that the file keeps, so no catalogue is needed. Types without a stored schema hide nothing, and a
// schema that this version of busgen cannot read hides the whole payload.
//
// What is hidden is not found either: the Text and the CorrelationID of a filter choose only what the reader sees, also
// for methods that steer.
//
// [File.Export] and [File.Erase] work with what is stored, so they are not for who may not see it. [File.Edit] keeps
// hidden values. What operators have typed is shown as it is: reasons, and conditions in the audit. Both files are one:
// Close closes both.
func (f *File) Hiding() *File {
	if f.hides() {
		return f
	}
	hiding := *f
	hiding.log = &veiled{Inspection: f.log, shapes: map[string]shapeAt{}}
	return &hiding
}

// hides reports whether f is what Hiding returns.
func (f *File) hides() bool {
	_, hides := f.log.(*veiled)
	return hides
}

// stored is the log as it is, hidden or not.
func (f *File) stored() engine.Inspection {
	if v, hides := f.log.(*veiled); hides {
		return v.Inspection
	}
	return f.log
}

// Hide returns a payload of an event type as [File.Hiding] shows it: for payloads that come
// from elsewhere than the methods of the file.
func (f *File) Hide(ctx context.Context, eventType string, version int, payload []byte) (json.RawMessage, error) {
	v := f.Hiding().log.(*veiled)
	hidden, _, err := v.hide(ctx, eventType, version, payload)
	return hidden, err
}

// SensitiveTypes returns the event types of which [File.Hiding] hides something, by the names
// that they have now. A type whose schema this version of busgen cannot read is one.
func (f *File) SensitiveTypes(ctx context.Context) (types []string, err error) {
	v := f.Hiding().log.(*veiled)
	names, err := v.Inspection.Declared(ctx)
	for _, eventType := range names.Types {
		shape, wrong := v.shape(ctx, eventType)
		if wrong != nil {
			return nil, wrong
		}
		if shape.Sensitive() {
			types = append(types, eventType)
		}
	}
	for _, sent := range []string{engine.InboxType, engine.RelayType} {
		if len(types) > 0 && slices.Contains(names.Types, sent) {
			types = append(types, sent) // others may send what is of one of them
		}
	}
	return types, err
}

// veiled is a log of which sensitive values are hidden.
type veiled struct {
	engine.Inspection

	mu     sync.Mutex
	shapes map[string]shapeAt // by event type
}

// shapeAt is what a schema said at some time. A program may store another.
type shapeAt struct {
	*privacy.Shape
	read time.Time
}

// shapeAge is how long a shape is believed.
const shapeAge = 2 * time.Second

func (v *veiled) shape(ctx context.Context, eventType string) (*privacy.Shape, error) {
	v.mu.Lock()
	known, ok := v.shapes[eventType]
	v.mu.Unlock()
	if ok && time.Since(known.read) < shapeAge {
		return known.Shape, nil
	}
	stored, err := v.Inspection.Schema(ctx, eventType)
	if err != nil {
		return nil, err
	}
	known = shapeAt{privacy.Read(stored.Text), time.Now()}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shapes[eventType] = known
	return known.Shape, nil
}

// hide hides what is sensitive in a payload, and returns what hides the same in texts.
func (v *veiled) hide(ctx context.Context, eventType string, version int, payload []byte) (json.RawMessage, *privacy.Veil, error) {
	of, hide := privacy.Carried(eventType, payload)
	shape, err := v.shape(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	hidden, veil := hide(shape, version, payload)
	return hidden, veil, nil
}

// allShapes reads the shapes of all event types, by their names, for what the log calls while it answers nothing else.
// It reports whether one of them hides something.
func (v *veiled) allShapes(ctx context.Context) (shapes map[string]*privacy.Shape, hides bool, err error) {
	names, err := v.Inspection.Declared(ctx)
	if err != nil {
		return nil, false, err
	}
	shapes = map[string]*privacy.Shape{}
	for _, name := range names.Types {
		if shapes[name], err = v.shape(ctx, strings.TrimPrefix(name, engine.DeadType(""))); err != nil {
			return nil, false, err
		}
		hides = hides || shapes[name].Sensitive()
	}
	return shapes, hides, nil
}

// limited returns the filter of an operator who does not see hidden values: it finds nothing in them. The shapes are
// read before the search, during which the log answers nothing else.
func (v *veiled) limited(ctx context.Context, f engine.Filter) (engine.Filter, error) {
	if f.Text == "" && f.CorrelationID == "" {
		return f, nil
	}
	shapes, hides, err := v.allShapes(ctx)
	if err != nil || !hides {
		return f, err
	}
	f.Sight = func(eventType string, version int, payload, part []byte, text string) bool {
		of, hide := privacy.Carried(eventType, payload)
		shape, known := shapes[of]
		if !known { // a program has declared it this moment, or others have sent it and nobody knows it
			return false
		}
		return shape.Finds(hide, version, payload, part, text)
	}
	return f, nil
}

// hideListed is hide for what a list has of a payload: of a long one the beginning, whose other values nobody knows.
func (v *veiled) hideListed(ctx context.Context, eventType string, version int, payload []byte, bytes int64) (json.RawMessage, *privacy.Veil, error) {
	hidden, veil, err := v.hide(ctx, eventType, version, payload)
	if veil != nil && bytes != 0 {
		veil = privacy.HidesAll
	}
	return hidden, veil, err
}

func (v *veiled) event(ctx context.Context, e *event.Event) (*privacy.Veil, error) {
	payload, veil, err := v.hideListed(ctx, e.Type, e.Version, e.Payload, e.PayloadBytes)
	if err != nil || veil == nil {
		return nil, err
	}
	e.Payload, e.CorrelationID = payload, veil.Text(e.CorrelationID)
	e.Metadata = hiddenMetadata(e.Metadata, veil)
	return veil, nil
}

func hiddenMetadata(metadata json.RawMessage, veil *privacy.Veil) json.RawMessage {
	if metadata == nil || veil == privacy.HidesAll {
		return nil
	}
	return json.RawMessage(veil.Text(string(metadata)))
}

// hiddenAttempts returns others: an engine may keep those that it returns.
func hiddenAttempts(attempts []event.FailedAttempt, veil *privacy.Veil) []event.FailedAttempt {
	attempts = slices.Clone(attempts)
	for i := range attempts {
		a := &attempts[i]
		a.Error, a.Stack, a.Log = veil.Text(a.Error), veil.Text(a.Stack), veil.Text(a.Log)
	}
	return attempts
}

// hiddenSteps leaves the results out, of which no schema says what is sensitive, but for times.
func hiddenSteps(steps []event.Step, veil *privacy.Veil) []event.Step {
	steps = slices.Clone(steps)
	for i := range steps {
		if one := &steps[i]; one.Kind != "sleep" && one.Kind != "await" {
			one.Name, one.Result = veil.Text(one.Name), nil
		}
	}
	return steps
}

func hiddenAudit(entries []event.AuditEntry, veil *privacy.Veil) []event.AuditEntry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Detail = veil.Text(entries[i].Detail)
	}
	return entries
}

// Events implements [engine.EventReader].
func (v *veiled) Events(ctx context.Context, f engine.Filter, p event.Page, most int) (event.EventSearch, error) {
	f, err := v.limited(ctx, f)
	if err != nil {
		return event.EventSearch{}, err
	}
	found, err := v.Inspection.Events(ctx, f, p, most)
	for i := range found.Events {
		if err == nil {
			_, err = v.event(ctx, &found.Events[i])
		}
	}
	found.Events = given(found.Events, err)
	return found, err
}

// Follow implements [engine.EventReader].
func (v *veiled) Follow(ctx context.Context, f engine.Following) (event.Followed, error) {
	var err error
	if f.Filter, err = v.limited(ctx, f.Filter); err != nil {
		return event.Followed{}, err
	}
	part, err := v.Inspection.Follow(ctx, f)
	for i := range part.Events {
		if err == nil {
			_, err = v.event(ctx, &part.Events[i])
		}
	}
	part.Events = given(part.Events, err)
	return part, err
}

// Unsettled implements [engine.EventReader].
func (v *veiled) Unsettled(ctx context.Context, visit func(event.Unsettled)) error {
	shapes, hides, err := v.allShapes(ctx)
	if err != nil {
		return err
	}
	return v.Inspection.Unsettled(ctx, func(e event.Unsettled) {
		of, hide := privacy.Carried(e.Type, e.Payload)
		shape, known := shapes[of]
		switch {
		case !hides:
		case !known: // a program has declared it this moment
			e.Payload, e.Unreadable = json.RawMessage(quotedHidden), hiddenProblem(e.Unreadable, privacy.HidesAll)
		default:
			hidden, veil := hide(shape, e.Version, e.Payload)
			if veil != nil {
				e.Payload, e.Unreadable = hidden, hiddenProblem(e.Unreadable, veil)
			}
		}
		visit(e)
	})
}

const quotedHidden = `"` + HiddenValue + `"`

// hiddenProblem hides values in the text of an error.
func hiddenProblem(err error, veil *privacy.Veil) error {
	if err == nil {
		return nil
	}
	return errors.New(veil.Finding(err.Error()))
}

// given returns nothing that may not be hidden.
func given[T any](all []T, err error) []T {
	if err != nil {
		return nil
	}
	return all
}

// Event implements [engine.EventReader].
func (v *veiled) Event(ctx context.Context, id uuid.UUID) (event.EventHistory, error) {
	e, err := v.Inspection.Event(ctx, id)
	if err != nil {
		return e, err
	}
	veil, err := v.event(ctx, &e.Event)
	if err != nil {
		return event.EventHistory{}, err
	}
	e.Deliveries = slices.Clone(e.Deliveries)
	for i := range e.Deliveries {
		e.Deliveries[i].Reason = veil.Text(e.Deliveries[i].Reason)
		e.Deliveries[i].Attempts = hiddenAttempts(e.Deliveries[i].Attempts, veil)
		e.Deliveries[i].Steps = hiddenSteps(e.Deliveries[i].Steps, veil)
	}
	e.Audit = hiddenAudit(e.Audit, veil)
	return e, nil
}

func (v *veiled) letter(ctx context.Context, l *event.DeadLetter) (*privacy.Veil, error) {
	payload, veil, err := v.hideListed(ctx, l.Type, l.Version, l.Payload, l.PayloadBytes)
	if err != nil || veil == nil {
		return nil, err
	}
	l.Payload, l.Metadata = payload, hiddenMetadata(l.Metadata, veil)
	l.Attempts = hiddenAttempts(l.Attempts, veil)
	return veil, nil
}

// DeadLetters implements [engine.DeadLetterReader].
func (v *veiled) DeadLetters(ctx context.Context, f engine.Filter, p event.Page, oldestFirst bool) ([]event.DeadLetter, string, error) {
	f, err := v.limited(ctx, f)
	if err != nil {
		return nil, "", err
	}
	letters, next, err := v.Inspection.DeadLetters(ctx, f, p, oldestFirst)
	for i := range letters {
		if err == nil {
			_, err = v.letter(ctx, &letters[i])
		}
	}
	return given(letters, err), next, err
}

// CountDeadLetters implements [engine.DeadLetterReader].
func (v *veiled) CountDeadLetters(ctx context.Context, f engine.Filter) (int, error) {
	f, err := v.limited(ctx, f)
	if err != nil {
		return 0, err
	}
	return v.Inspection.CountDeadLetters(ctx, f)
}

// Sweep implements [engine.Sweeper]. How many deliveries match says as much as a list of them.
func (v *veiled) Sweep(ctx context.Context, spec engine.SweepSpec) (sweep engine.Sweep, matched int, err error) {
	if spec.Filter, err = v.limited(ctx, spec.Filter); err != nil {
		return nil, 0, err
	}
	return v.Inspection.Sweep(ctx, spec)
}

// DeadLetter implements [engine.DeadLetterReader].
func (v *veiled) DeadLetter(ctx context.Context, key event.Key) (event.DeadLetterHistory, error) {
	l, err := v.Inspection.DeadLetter(ctx, key)
	if err != nil {
		return l, err
	}
	veil, err := v.letter(ctx, &l.DeadLetter)
	if err != nil {
		return event.DeadLetterHistory{}, err
	}
	l.Audit = hiddenAudit(l.Audit, veil)
	return l, nil
}

// FailureGroups implements [engine.DeadLetterReader]. The message of a group is that of its
// newest dead letter, whose values are hidden.
func (v *veiled) FailureGroups(ctx context.Context, f engine.Filter) ([]event.FailureGroup, error) {
	f, err := v.limited(ctx, f)
	if err != nil {
		return nil, err
	}
	groups, err := v.Inspection.FailureGroups(ctx, f)
	for i := range groups {
		if err == nil {
			groups[i].Message, err = v.groupMessage(ctx, groups[i])
		}
	}
	return given(groups, err), err
}

func (v *veiled) groupMessage(ctx context.Context, g event.FailureGroup) (string, error) {
	hides := false
	for _, eventType := range g.Types {
		of, _ := privacy.Carried(eventType, nil)
		shape, err := v.shape(ctx, of)
		if err != nil {
			return "", err
		}
		hides = hides || of == "" || shape.Sensitive()
	}
	if !hides {
		return g.Message, nil
	}
	letters, _, err := v.Inspection.DeadLetters(ctx, engine.Filter{Filter: event.Filter{Keys: []event.Key{g.Sample}}}, event.Page{Limit: 1}, false)
	if err != nil {
		return "", err
	}
	if len(letters) == 0 {
		return HiddenValue, nil // it was retried meanwhile
	}
	veil, err := v.letter(ctx, &letters[0])
	return veil.Text(g.Message), err
}

// Status implements [engine.StatusReader].
func (v *veiled) Status(ctx context.Context, limit int, since event.Status) (event.Status, error) {
	status, err := v.Inspection.Status(ctx, limit, since)
	if err == nil {
		status.Breakers, err = v.breakers(ctx, status.Breakers)
	}
	return status, err
}

// Activity implements [engine.StatusReader].
func (v *veiled) Activity(ctx context.Context) (engine.Activity, event.Owner, error) {
	activity, owner, err := v.Inspection.Activity(ctx)
	if err == nil {
		activity.Breakers, err = v.breakers(ctx, activity.Breakers)
	}
	return activity, owner, err
}

// breakerEvents is how many of the newest events are looked through for the one whose error opened a breaker.
const breakerEvents = 1000

// breakers hides values in the last errors of breakers, which do not say of which event they
// are. The process that dispatches has hidden what its catalogue calls sensitive. For the rest,
// if none of the newest events is found with the error, ids, numbers and quoted texts are taken out.
func (v *veiled) breakers(ctx context.Context, breakers []event.Breaker) ([]event.Breaker, error) {
	if len(breakers) == 0 {
		return breakers, nil
	}
	if hides, err := (&File{log: v}).SensitiveTypes(ctx); err != nil || len(hides) == 0 {
		return given(breakers, err), err
	}
	breakers = slices.Clone(breakers)
	for i := range breakers {
		b := &breakers[i]
		if b.LastError == "" || strings.Contains(b.LastError, HiddenValue) {
			continue
		}
		search, err := v.Inspection.Events(ctx, engine.Filter{Filter: event.Filter{Text: b.LastError}}, event.Page{Limit: 1}, breakerEvents)
		if err != nil {
			return nil, err
		}
		found := search.Events
		if len(found) == 0 {
			b.LastError = fingerprint.Normalize(b.LastError)
			continue
		}
		_, veil, err := v.hide(ctx, found[0].Type, found[0].Version, found[0].Payload)
		if err != nil {
			return nil, err
		}
		b.LastError = veil.Text(b.LastError)
	}
	return breakers, nil
}

// report hides values in the errors of samples, which quote them, perhaps in part.
func (v *veiled) report(ctx context.Context, r *Report, found []event.Unsettled) error {
	for _, e := range found {
		_, veil, err := v.hide(ctx, e.Type, e.Version, e.Payload)
		if err != nil {
			return err
		}
		for i := range r.Undecodable {
			for j := range r.Undecodable[i].Samples {
				if s := &r.Undecodable[i].Samples[j]; s.ID == e.ID && veil != nil {
					s.Error = veil.Finding(s.Error)
				}
			}
		}
	}
	return nil
}
