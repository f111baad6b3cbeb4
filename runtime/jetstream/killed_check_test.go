//go:build unix

package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	js "github.com/nats-io/nats.go/jetstream"
)

// found is what a reader of the stream sees who knows the format of the records and nothing
// of the engine.
type found struct {
	orders, children map[int]int         // how often each is stored
	inKeys           map[int]int         // which one of its key each order is, in the order of the stream
	ofKeys           [orderKeys]int      // how many orders each key has
	rows             map[string]row      // of deliveries, by their subjects
	last             map[string]uint64   // the last event of each type, and of each type and part of a subscription
	subscriptions    map[string]string   // their names, by their ids
	cursors          map[string]position // by their subjects
}

type row struct {
	State, Reason string
	Order         int
	Subject       string
	Attempts      []struct{ Kind string }
	Uncounted     int
}

type position struct {
	Owner   string
	Next    uint64
	Open    []uint64
	Divided bool // the parts count
}

// readStream reads a stream whose newest message is not deleted, up to that. Without events
// it reads records only.
func readStream(ctx context.Context, client js.JetStream, events bool) (*found, error) {
	s, err := client.Stream(ctx, "bus")
	if err != nil {
		return nil, err
	}
	last := s.CachedInfo().State.LastSeq
	f := &found{
		orders: map[int]int{}, children: map[int]int{}, inKeys: map[int]int{}, rows: map[string]row{}, cursors: map[string]position{},
		last: map[string]uint64{}, subscriptions: map[string]string{},
	}
	filters := []string{"bus.c.>", "bus.d.>"}
	if events {
		filters = append(filters, "bus.e.>")
	}
	m, err := s.GetLastMsgForSubject(ctx, "bus.n")
	if err != nil {
		return nil, err
	}
	var registry struct{ Subscriptions []struct{ ID, Name string } }
	if err := json.Unmarshal(m.Data, &registry); err != nil {
		return nil, err
	}
	for _, one := range registry.Subscriptions {
		f.subscriptions[one.ID] = one.Name
	}
	for _, name := range []string{"order.placed", "order.paid"} {
		for slot := range 64 {
			m, err := s.GetLastMsgForSubject(ctx, fmt.Sprintf("bus.e.%02x.%s", slot, name))
			if errors.Is(err, js.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			part := fmt.Sprint(name, ".", 1+slot%16)
			f.last[name], f.last[part] = max(f.last[name], m.Sequence), max(f.last[part], m.Sequence)
		}
	}
	reader, err := s.OrderedConsumer(ctx, js.OrderedConsumerConfig{FilterSubjects: filters})
	if err != nil {
		return nil, err
	}
	info, err := reader.Info(ctx)
	if err != nil {
		return nil, err
	}
	if info.NumPending == 0 {
		return f, nil
	}
	messages, err := reader.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(js.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		at, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		if at.Sequence.Stream > last && events {
			return nil, fmt.Errorf("the stream is written while it is read")
		}
		if err := f.take(m); err != nil {
			return nil, err
		}
		if at.NumPending == 0 {
			return f, nil
		}
	}
}

func (f *found) take(m js.Msg) error {
	switch strings.Split(m.Subject(), ".")[1] {
	case "e":
		var payload struct {
			Number  int    `json:"number"`
			OrderID string `json:"order_id"`
		}
		if err := json.Unmarshal(m.Data(), &payload); err != nil {
			return err
		}
		switch name := m.Headers().Get("Busgen-Type"); name {
		case "order.placed":
			f.orders[payload.Number]++
			key := order{n: payload.Number}.key()
			f.inKeys[payload.Number] = f.ofKeys[key]
			f.ofKeys[key]++
		case "order.paid":
			n, err := strconv.Atoi(payload.OrderID)
			if err != nil {
				return err
			}
			f.children[n]++
		case "user.created":
		default:
			return fmt.Errorf("there is an event %s", name)
		}
	case "c":
		var c position
		if err := json.Unmarshal(m.Data(), &c); err != nil {
			return err
		}
		f.cursors[m.Subject()] = c
	case "d":
		var r struct {
			row
			Payload []byte
			Type    string
		}
		if err := json.Unmarshal(m.Data(), &r); err != nil {
			return err
		}
		var payload struct {
			Number int `json:"number"`
		}
		if len(r.Payload) > 0 {
			if err := json.Unmarshal(r.Payload, &payload); err != nil {
				return err
			}
		}
		r.Order = payload.Number
		if r.Type == "order.paid" {
			r.Order = -1
		}
		f.rows[m.Subject()] = r.row
	}
	return nil
}

// open says what is not settled; empty for nothing.
func (f *found) open() string {
	for subject, c := range f.cursors {
		// Events of other types, and of other parts, do not move it.
		id, part, isPart := strings.Cut(strings.TrimPrefix(subject, "bus.c."), ".")
		if isPart != f.cursors["bus.c."+id].Divided {
			continue
		}
		name := f.subscriptions[id]
		of := map[string]string{"orders": "order.placed", "payments": "order.paid"}[name]
		if isPart {
			of += "." + part
		}
		last := f.last[of]
		if c.Next <= last || len(c.Open) > 0 {
			return fmt.Sprintf("%s (%s) stands at %d of %d, with %d open, owner %q", subject, name, c.Next, last, len(c.Open), c.Owner)
		}
	}
	for subject, r := range f.rows {
		if r.State == "waiting" || r.State == "held" {
			return fmt.Sprintf("%s is %s", subject, r.State)
		}
	}
	if len(f.cursors) < 2 {
		return "not all subscriptions have begun"
	}
	return ""
}

// check compares what is stored with what the processes have said.
func (f *found) check(j *journal, events, poisonEvery int) (problems []string, counts string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if what := f.open(); what != "" {
		add("not all is settled: %s", what)
	}
	dead, crashes := map[int]row{}, 0
	for subject, r := range f.rows {
		if r.State != "dead" {
			for _, a := range r.Attempts {
				if a.Kind == "crash" {
					crashes++
				}
			}
			continue
		}
		if _, twice := dead[r.Order]; twice || r.Order < 0 {
			add("%s is dead, of order %d", subject, r.Order)
		}
		dead[r.Order] = r
	}
	unknown, twice, stored := 0, 0, 0
	for n := range events {
		o := order{n, poisonEvery}
		got := f.orders[n]
		stored += got
		switch said := j.said; {
		case said["acknowledged"][n] == 1 && got != 1:
			add("order %d was acknowledged and is stored %d times", n, got)
		case said["acknowledged"][n] > 1 || got > 1:
			add("order %d was acknowledged %d times and is stored %d times", n, said["acknowledged"][n], got)
		case said["acknowledged"][n] == 0:
			unknown++
		}
		children, want := f.children[n], 0
		if got == 1 && o.hasChild() {
			want = 1
		}
		if children != want {
			add("order %d has %d children, want %d", n, children, want)
		}
		if children == 1 && j.said["payments"][n] == 0 {
			add("the payment of order %d was never handled", n)
		}
		reason := ""
		switch {
		case got == 0:
		case o.poison():
			reason = "crash"
		case o.permanent():
			reason = "permanent"
		case j.said["orders"][n] == 0:
			add("order %d was never handled", n)
		}
		if dead[n].Reason != reason {
			add("order %d is dead because of %q, want %q", n, dead[n].Reason, reason)
		}
		if handled := j.said["orders"][n]; handled > 0 && reason != "" {
			add("order %d was handled %d times", n, handled)
		} else if handled > 1 {
			twice++
		}
		if o.poison() && got == 1 && len(dead[n].Attempts) != lives {
			add("order %d, which is poison, is dead after %d attempts", n, len(dead[n].Attempts))
		}
	}
	return problems, fmt.Sprintf("%d orders stored (%d not acknowledged), %d children, %d dead, %d handled more than once, %d kills counted as an attempt of an order that is not poison",
		stored, unknown, len(f.children), len(dead), twice, crashes)
}
