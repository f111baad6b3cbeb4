package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Arrival is a bus that goes on in the place of one of another engine. Its events come in
// batches, each with the record of how far the move has come, under the condition that nothing
// else was appended to the stream meanwhile. So the moving process knows the sequence numbers
// before it sends, may die at any moment, and what it sends twice is stored once.
type Arrival struct {
	conn    // it knows the subjects and messages
	baggage *engine.Baggage
	state   arrivalRecord
	subs    []subscription // as in the baggage
}

// arriving is a part of the registry.
type arriving struct {
	From  string    `json:"from"`
	Since time.Time `json:"since"`
}

// arrivalRecord is how far a move has come.
type arrivalRecord struct {
	N       int64  `json:"n"`     // counts the versions of the record
	Log     string `json:"log"`   // which log moves
	After   int64  `json:"after"` // its events up to here have moved
	Last    int64  `json:"last"`  // the last message of the batch that this record is in
	Done    bool   `json:"done,omitempty"`
	PartSeq int64  `json:"part_seq,omitempty"` // the event behind After, if it has more deliveries than fit into a batch
	Part    int    `json:"part,omitempty"`     // so many of them have moved
	// Places are where the subscriptions stand, once the move has come to the place that they
	// had.
	Places map[string]place `json:"places,omitempty"`
	Moved  Moved            `json:"moved"`
}

// place is where a subscription stands, as in its record and in its cursor; 0 if that is
// not known yet.
type place struct {
	Start int64 `json:"start,omitempty"`
	Next  int64 `json:"next,omitempty"`
}

// Moved is how much has moved.
type Moved struct {
	Events        int `json:"events"`
	Waiting       int `json:"waiting"` // deliveries
	Dead          int `json:"dead"`
	Keys          int `json:"keys"`
	Subscriptions int `json:"subscriptions"`
}

// refuseArriving returns an error while the events of the log come from somewhere else.
func (r *registry) refuseArriving(target string) error {
	if r.Arriving == nil {
		return nil
	}
	return &event.StorageError{
		Fault: event.Incomplete, Op: "open", Path: target,
		Hint: fmt.Sprintf("the events of %s are on their way to it since %s: run \"busgen move\" again until it says that all have arrived",
			r.Arriving.From, r.Arriving.Since.Format(time.RFC3339)),
	}
}

// Vacant returns an error if the events of a log cannot move to a stream, because that is in
// use.
func Vacant(ctx context.Context, s *stream.Stream, target string, log uuid.UUID) error {
	_, err := find(ctx, s, target, &engine.Baggage{Log: log})
	return err
}

// find returns the move of a log into a stream; its state has N 0 if it has not begun.
func find(ctx context.Context, s *stream.Stream, target string, b *engine.Baggage) (*Arrival, error) {
	a := &Arrival{baggage: b}
	a.init(s, target, engine.Options{})
	err := a.look(ctx)
	switch {
	case errors.Is(err, stream.ErrNotFound):
		err = a.vacant(ctx)
	case err == nil && a.state.Log != b.Log.String():
		err = a.inUse("another file was moved to it")
	}
	return a, a.storage("move to", err)
}

// Arrive begins a move from a log into a stream, or goes on with one.
func Arrive(ctx context.Context, s *stream.Stream, target, from string, b *engine.Baggage) (*Arrival, error) {
	a, err := find(ctx, s, target, b)
	if err != nil {
		return nil, err
	}
	if a.state.N == 0 {
		if err := a.begin(ctx, from); err != nil {
			return nil, a.storage("move to", err)
		}
		return a, nil
	}
	r, err := a.readRegistry(ctx)
	if a.subs = r.Subs; err == nil && !a.state.Done && len(r.Subs) != len(b.Subscriptions) {
		err = a.inUse("its registry has changed while events were moved to it")
	}
	return a, a.storage("move to", err)
}

func (a *Arrival) readRegistry(ctx context.Context) (r registry, err error) {
	m, err := a.stream.LastOf(ctx, a.subject(registryToken))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(m.Data, &r)
}

// vacant makes sure that no bus uses the stream, and reads where it ends.
func (a *Arrival) vacant(ctx context.Context) (err error) {
	if a.state.Last, err = a.stream.Last(ctx); err != nil {
		return err
	}
	r, err := a.readRegistry(ctx)
	switch {
	case errors.Is(err, stream.ErrNotFound) && a.state.Last == 0:
		return nil
	case errors.Is(err, stream.ErrNotFound):
		return a.inUse("the stream has messages of something else")
	case err == nil && len(r.Types)+len(r.Subs) > 0:
		return a.inUse("a program has opened it as its bus")
	}
	return err
}

func (a *Arrival) inUse(why string) error {
	return &event.StorageError{
		Fault: event.Foreign, Op: "move to", Path: a.target, Err: errors.New(why),
		Hint: "events move to a bus that nobody has used before: choose another name",
	}
}

// begin stores the registry.
func (a *Arrival) begin(ctx context.Context, from string) error {
	r := registry{Format: format, Log: a.baggage.Log, Pauses: a.baggage.Pauses, Arriving: &arriving{from, time.Now().UTC()}}
	for i, t := range a.baggage.Types {
		r.Types = append(r.Types, typenames.Row{ID: int64(i + 1), Name: t.Name, Written: t.Written, Version: t.Version})
	}
	for _, one := range a.baggage.Subscriptions {
		r.Subs = append(r.Subs, subscription{ID: nuid.Next(), Name: one.Name, Former: one.Former, Pattern: one.Pattern})
	}
	a.subs = r.Subs
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	a.state.Log, a.state.Moved.Subscriptions = a.baggage.Log.String(), len(r.Subs)
	return a.send(ctx, a.state, []*stream.Msg{{Subject: a.subject(registryToken), Data: data, Only: true}})
}

// After returns up to where the events of the other log have moved.
func (a *Arrival) After() int64 { return a.state.After }

// Done reports whether everything has moved.
func (a *Arrival) Done() bool { return a.state.Done }

// Moved returns how much has moved.
func (a *Arrival) Moved() Moved { return a.state.Moved }

// look reads how far the move has come.
func (a *Arrival) look(ctx context.Context) error {
	m, err := a.stream.LastOf(ctx, a.subject(arrivalToken))
	if err != nil {
		return err
	}
	var state arrivalRecord
	if err := json.Unmarshal(m.Data, &state); err != nil {
		return err
	}
	a.state = state
	return nil
}

// send stores a batch with the next record.
func (a *Arrival) send(ctx context.Context, next arrivalRecord, msgs []*stream.Msg) error {
	before := a.state
	next.N, next.Last = before.N+1, before.Last+int64(len(msgs))+1
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	all := append([]*stream.Msg{{Subject: a.subject(arrivalToken), Data: data, Only: true, ExpectLast: stream.Expecting(before.Last)}}, msgs...)
	for began := time.Now(); ; {
		_, _, err := a.stream.Append(ctx, all...)
		if err == nil {
			a.state = next
			return nil
		}
		var refused *stream.ServerError
		conflict := errors.Is(err, stream.ErrConflict) || errors.Is(err, stream.ErrStored) // both are what a try that was stored leads to
		if ctx.Err() != nil || errors.Is(err, nats.ErrMaxPayload) || errors.As(err, &refused) && !conflict {
			return err
		}
		if lookErr := a.look(ctx); lookErr == nil || before.N == 0 && errors.Is(lookErr, stream.ErrNotFound) {
			switch {
			case lookErr == nil && a.state.N == next.N && a.state.Last == next.Last: // it was stored
				return nil
			case conflict && a.state.N == before.N:
				return a.inUse("another program writes to it while events are moved to it")
			case lookErr == nil && a.state.N != before.N:
				return a.inUse("another process moves events to it at the same time")
			}
		}
		if time.Since(began) > patience {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return err
		}
	}
}

// Finish stores the rest, and lets programs open the bus.
func (a *Arrival) Finish(ctx context.Context, actor, from string) error {
	return a.storage("move to", a.finish(ctx, actor, from))
}

func (a *Arrival) finish(ctx context.Context, actor, from string) error {
	rest := a.state.Last // no event comes behind this
	var msgs []*stream.Msg
	r := registry{Format: format, Log: a.baggage.Log, Pauses: a.baggage.Pauses, Subs: a.subs}
	for i, t := range a.baggage.Types {
		r.Types = append(r.Types, typenames.Row{ID: int64(i + 1), Name: t.Name, Written: t.Written, Version: t.Version})
	}
	for i := range r.Subs {
		s, at := &r.Subs[i], a.state.Places[a.subs[i].ID]
		if at.Next == 0 {
			at.Next = rest + 1
		}
		if s.Start = at.Start; at.Start == 0 {
			s.Start = rest
		}
		data, _ := json.Marshal(cursor{N: 1, Next: at.Next})
		msgs = append(msgs, &stream.Msg{Subject: a.subject(cursorToken, s.ID), Data: data, Only: true})
	}
	for _, one := range a.baggage.Schemas {
		data, _ := json.Marshal(schema{one.Type, one.Schema})
		msgs = append(msgs, &stream.Msg{Subject: a.schemaSubject(one.Type, one.Version), Data: data, Only: true})
	}
	if len(a.baggage.Schedules) > 0 {
		data, _ := json.Marshal(a.baggage.Schedules)
		msgs = append(msgs, &stream.Msg{Subject: a.subject(timeToken), Data: data, Only: true})
	}
	for len(msgs) > batchMessages {
		if err := a.send(ctx, a.state, msgs[:batchMessages]); err != nil {
			return err
		}
		msgs = msgs[batchMessages:]
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	msgs = append(msgs, a.entryMsg(event.AuditEntry{
		ID: 1, At: now, Actor: actor, Action: "move", Count: a.state.Moved.Events, Detail: "from " + from,
	}), &stream.Msg{Subject: a.subject(registryToken), Data: data, Only: true})
	next := a.state
	next.Done, next.Places = true, nil
	return a.send(ctx, next, msgs)
}

// reached notes where subscriptions stand, as far as an event tells that has a place in both
// logs.
func (a *Arrival) reached(state *arrivalRecord, before, seq int64) {
	copied := false
	for i, one := range a.baggage.Subscriptions {
		id := a.subs[i].ID
		at := state.Places[id]
		fresh := at
		if at.Start == 0 && before > one.Start {
			fresh.Start = seq - 1
		}
		if at.Next == 0 && before > one.Cursor {
			fresh.Next = seq
		}
		if fresh == at {
			continue
		}
		if !copied {
			if state.Places = maps.Clone(state.Places); state.Places == nil {
				state.Places = map[string]place{}
			}
			copied = true
		}
		state.Places[id] = fresh
	}
}
