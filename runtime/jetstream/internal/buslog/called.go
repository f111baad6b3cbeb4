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

// called is the record of the suspects whose handlers a process has called. It is read only when
// the process has died.
type called struct {
	Calls []call `json:"calls"`
}

// call is one of them.
type call struct {
	Sub     string    `json:"sub"`
	Seq     int64     `json:"seq"`
	Started time.Time `json:"started"` // as in its claim
}

// calledTime is how long the record is kept: longer than anybody takes to take over.
const calledTime = 7 * 24 * time.Hour

// call says that the handlers of suspects are called now, of flights of one unit. The caller
// holds mu, which is free meanwhile.
func (u *unit) call(all ...*flight) {
	l := u.log
	l.calling = slices.DeleteFunc(l.calling, func(f *flight) bool { return f.ended || !f.known })
	l.calling = append(l.calling, all...)
	l.tellCalls()
}

// tellCalls says what is called of suspects: their handlers, and what computes their keys. The caller holds mu, which is
// free meanwhile.
func (l *Log) tellCalls() {
	var r called
	for _, f := range l.calling {
		r.Calls = append(r.Calls, call{f.consumer.unit.sub.ID, f.record.Seq, f.began()})
	}
	for id, u := range l.units {
		if c := u.prepared; c != nil && c.Asked {
			r.Calls = append(r.Calls, call{id, c.Seq, c.Started})
		}
	}
	data, _ := json.Marshal(r)
	msg := &stream.Msg{Subject: l.subject(calledToken, l.instance), Data: data, Only: true, TTL: calledTime}
	l.mu.Unlock()
	l.stream.Tell(msg)
	l.mu.Lock()
}

// calledBy returns what a process has said that has died, if there is anything to ask it for.
func (l *Log) calledBy(instance string) (called, error) {
	var r called
	l.mu.Lock()
	asked := false
	for _, s := range l.subs {
		for _, at := range s.live() {
			p := &s.parts[at]
			asked = asked || p.Owner == instance && slices.ContainsFunc(p.Ran, func(c claim) bool { return c.Asked })
		}
	}
	l.mu.Unlock()
	if !asked {
		return r, nil
	}
	m, err := l.stream.LastOf(context.Background(), l.subject(calledToken, instance))
	if errors.Is(err, stream.ErrNotFound) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(m.Data, &r)
	}
	return r, err
}

// begun returns those of the claims of a subscription whose handlers were called.
func (r called) begun(sub string, all []claim) (ran []claim) {
	for _, c := range all {
		if !c.Asked || slices.ContainsFunc(r.Calls, func(one call) bool {
			return one.Sub == sub && one.Seq == c.Seq && one.Started.Equal(c.Started)
		}) {
			ran = append(ran, c)
		}
	}
	return ran
}
