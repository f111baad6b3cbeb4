package buslog

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// An express event is one message among the others, and whoever takes a subscription over has to find it behind a backlog
// of any length. So a message of the subject x comes before it, in the same batch, and the server finds these by their
// subject. The server forgets them after a while: then the event comes in its place of the log.
//
// What was handed out ahead of the log gets a row, also when it is done, until the log has come to it.

const (
	// expressTime is for how long an express event is found.
	expressTime = 24 * time.Hour
	// mostAhead is how many rows a subscription has at most if it polls express events: rows are in memory.
	mostAhead = 4096
)

// comesAhead reports whether the deliveries of an event may come ahead of the log. Those of a key have an order.
func comesAhead(r *engine.Record) bool {
	return r.Express && r.Due.IsZero() && r.Key == "" && !r.Keyed && r.Origin == nil
}

// expressMsg returns the message that comes before an express event.
func (c *conn) expressMsg() *stream.Msg {
	return &stream.Msg{Subject: c.subject(expressToken), TTL: expressTime}
}

// eventMsgs returns the messages of an event.
func (c *conn) eventMsgs(r *engine.Record) []*stream.Msg {
	if comesAhead(r) {
		return []*stream.Msg{c.expressMsg(), c.eventMsg(r)}
	}
	return []*stream.Msg{c.eventMsg(r)}
}

// pollExpress hands out up to limit express events ahead of the log. The caller holds mu, which is free while the servers
// are asked.
func (c *consumer) pollExpress(dst []*engine.Delivery, limit int) ([]*engine.Delivery, error) {
	u, h, back := c.unit, c.unit.in, c.unit.back
	full := len(dst) + limit
	for u.express && len(dst) < full && len(u.sub.rows) < mostAhead {
		u.express = false // what comes from here on sets it again
		from := max(u.next, u.looked)
		h.mu.Unlock()
		page, err := h.stream.Page(context.Background(), from-1, h.subject(expressToken), full-len(dst), math.MaxInt32)
		h.mu.Lock()
		if err != nil || len(page) > 0 {
			u.express = true
		}
		if err != nil || !u.same(c, back) {
			return dst, h.storage("read", err)
		}
		for _, m := range page {
			r, err := h.event(context.Background(), m.Seq+1)
			switch {
			case errors.Is(err, stream.ErrNotFound): // it is deleted
			case err != nil || !u.same(c, back):
				return dst, h.storage("read", err)
			case !comesAhead(r) || !u.hands(slotOf(r)) || !u.isNext(r, slotOf(r)) || !u.sub.matches(r) || u.sub.rows[r.Seq] != nil || u.flights.of(r.Seq) != nil:
			default:
				u.shut()
				dst = append(dst, c.handOut(r, nil, slotOf(r)))
				u.flights.of(r.Seq).ahead = true
			}
			u.looked = m.Seq + 2
		}
	}
	return dst, nil
}
