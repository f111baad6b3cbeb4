package buslog

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// ask is the record of a wish to have a delivery cancelled, until the owner of the
// subscription has answered with a row.
type ask struct {
	Reason   string `json:"reason"`
	Answered bool   `json:"answered,omitempty"`

	rev int64 // the sequence number of the record
}

// askMsg returns the message of a wish. For nil it says that the wish is answered, and is
// refused if the record has changed since rev.
func (c *conn) askMsg(sub string, seq int64, a *ask, rev int64) *stream.Msg {
	m := &stream.Msg{Subject: c.subject(askToken, sub, strconv.FormatInt(seq, 10)), Only: true}
	if a == nil {
		a, m.TTL, m.Expect = &ask{Answered: true}, goneTime, stream.Expecting(rev)
	}
	m.Data, _ = json.Marshal(a)
	return m
}

// applyAsk notes a wish. The caller holds mu.
func (v *logView) applyAsk(rest string, m stream.Stored) error {
	id, text, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	var a ask
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return err
	}
	s := v.sub(id)
	if delete(s.asks, seq); !a.Answered {
		a.rev = m.Seq
		s.asks[seq] = &a
	}
	if s.listener != nil {
		s.listener.askChanged(a.Answered)
	}
	v.noteSettled()
	return nil
}

// askChanged implements [listener].
func (u *unit) askChanged(answered bool) {
	if u.shut(); u.owns() && !answered {
		u.changed(true)
		u.wake()
	}
}

// askedEvents returns the events that somebody wishes to have cancelled and that have no row.
func (st *storing) askedEvents() map[int64]*engine.Record {
	h := st.in
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(st.sub.asks) == 0 {
		return nil
	}
	events := map[int64]*engine.Record{}
	for _, seq := range slices.Collect(maps.Keys(st.sub.asks)) {
		if st.sub.rows[seq] == nil {
			if r, err := h.event(context.Background(), seq); err == nil && st.has(slotOf(r)) {
				events[seq] = r
			}
		}
	}
	return events
}

// answers returns the messages that answer whoever wishes to have deliveries cancelled, but for
// those that the plan settles. The caller holds mu.
func (u *unit) answers(p *plan, events map[int64]*engine.Record, parts map[int]bool) (msgs []*stream.Msg) {
	room := batchRoom
	if u.alone {
		room = 1 - min(len(p.flights), 1)
	}
	for seq, a := range u.sub.asks {
		r := u.wholeOf(seq)
		if f := u.flights.of(seq); f != nil && f.plan == p || len(msgs) >= room || r == nil && events[seq] == nil || r != nil && !u.has(r.slot()) {
			continue
		}
		event := events[seq]
		if r != nil {
			event = r.record()
		}
		parts[u.sub.at(slotOf(event))] = true
		what := u.answer(event)
		if what != "" && (r == nil || r.State.Open()) {
			r = r.orNew(event)
			r.Row, r.Answer = r.Cancel(a.Reason), what
			msgs = append(msgs, u.in.rowMsg(u.sub.ID, r, u.sub.revOf(seq)))
		}
		msgs = append(msgs, u.in.askMsg(u.sub.ID, seq, nil, a.rev))
	}
	return msgs
}
