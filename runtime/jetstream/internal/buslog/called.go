package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The claim of a suspect is stored before its handler is called, which takes a round trip to
// the servers, or more when their disks are slow. A process that ends meanwhile must not count
// for a handler that was never called, and one whose handler ends it with its first instruction
// must. So when the claim is stored the process says that the handlers are called now. It does
// not wait for the answer: what the operating system has taken to send outlives the process.
//
// The same is true of the key of a suspect. Its claim is stored while the key is computed, and stays until the next
// record of its subscription, for which the process waits. What it says here, it need not wait for.
//
// Others need no second record: their first crash makes them suspects, and counts once at most.

// Suspects run alone. While one does, the record says so, too: what the stored cursors say of other handlers
// is over, also that a subscription is busy. A process whose handlers end quickly never has a moment in which no cursor
// says so, and no crash would ever count. So who begins next to a suspect, or after it, waits until the process has said
// that it is not alone any more.

// called is the record of the suspects whose handlers a process has called. It is read only when
// the process has died.
type called struct {
	Calls []call `json:"calls"`
	Alone bool   `json:"alone,omitempty"` // no others run, but for those that wait
}

// call is one of them.
type call struct {
	Sub     string    `json:"sub"`
	Seq     int64     `json:"seq"`
	Started time.Time `json:"started"` // as in its claim
}

// calledTime is how long the record is kept: longer than anybody takes to take over.
const calledTime = 7 * 24 * time.Hour

// call says that the handlers of suspects are called now, of flights of one unit. It gives mu back meanwhile.
func (u *unit) call(all ...*flight) {
	u.in.calling = append(u.in.calling, all...)
	u.in.tellCalls()
}

// tellCalls says what is called of suspects: their handlers, and what computes their keys; and whether they are alone.
// The caller holds mu, which is free meanwhile.
func (h *handled) tellCalls() {
	h.mu.Unlock()
	h.saying <- struct{}{} // what is said last is the newest
	h.mu.Lock()
	r := h.calls()
	h.alone = r.Alone
	h.mu.Unlock()
	data, _ := json.Marshal(r)
	h.stream.Tell(&stream.Msg{Subject: h.subject(calledToken, h.instance), Data: data, Only: true, TTL: calledTime})
	<-h.saying
	h.mu.Lock()
}

// tellCallsSoon is tellCalls for who cannot wait.
func (h *handled) tellCallsSoon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.tellCalls()
	}
}

// calls returns what is called now.
func (h *handled) calls() (r called) {
	h.calling = slices.DeleteFunc(h.calling, func(f *flight) bool { return f.ended || f.returned || !f.known })
	for _, f := range h.calling {
		r.Calls = append(r.Calls, call{f.consumer.unit.sub.ID, f.record.Seq, f.began()})
	}
	others := false
	for id, u := range h.units {
		switch c := u.prepared; {
		case c == nil:
		case c.Asked:
			r.Calls = append(r.Calls, call{id, c.Seq, c.Started})
		default:
			others = true
		}
		u.shut()
		others = others || len(u.left) > 0 || slices.ContainsFunc(u.atWork, func(f *flight) bool {
			return f.known && !f.ended && !f.returned && !f.waits && !slices.Contains(h.calling, f)
		})
	}
	r.Alone = len(r.Calls) > 0 && !others
	return r
}

// calledBy returns what a process has said that has died.
func (c *conn) calledBy(instance string) (called, error) {
	var r called
	m, err := c.stream.LastOf(context.Background(), c.subject(calledToken, instance))
	if errors.Is(err, stream.ErrNotFound) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(m.Data, &r)
	}
	return r, err
}

// begun returns those of the claims of a subscription whose handlers were called, and had not ended as far as the
// process has said.
func (r called) begun(sub string, all []claim) (ran []claim) {
	for _, c := range all {
		if !c.Asked && (!r.Alone || c.Waits || c.Left) || slices.ContainsFunc(r.Calls, func(one call) bool {
			return one.Sub == sub && one.Seq == c.Seq && one.Started.Equal(c.Started)
		}) {
			ran = append(ran, c)
		}
	}
	return ran
}
