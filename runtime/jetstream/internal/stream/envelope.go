package stream

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// envelope is a message as the client takes it. It is filled again for each message of a batch: the
// client has copied the one before when it has sent it. The zero envelope is ready to use.
type envelope struct {
	msg    nats.Msg
	values [10]string // memory of the headers; more than that is allocated
	used   int
}

// fill makes the message. In a batch it has an id and the number of the message, from 1 on; last
// says that the batch ends with it.
func (e *envelope) fill(m *Msg, batch string, number int, last bool) *nats.Msg {
	if e.msg.Header == nil {
		e.msg.Header = nats.Header{}
	}
	clear(e.msg.Header)
	e.msg.Subject, e.msg.Reply, e.msg.Data, e.used = m.Subject, "", m.Data, 0
	for _, h := range m.Header {
		e.set(h.Name, h.Value)
	}
	if m.ID != "" {
		e.set("Nats-Msg-Id", m.ID)
	}
	if m.Expect != nil {
		e.set("Nats-Expected-Last-Subject-Sequence", strconv.FormatInt(*m.Expect, 10))
	}
	if m.ExpectLast != nil {
		e.set("Nats-Expected-Last-Sequence", strconv.FormatInt(*m.ExpectLast, 10))
	}
	if m.Only {
		e.set("Nats-Rollup", "sub")
	}
	if m.TTL > 0 {
		e.set("Nats-TTL", strconv.FormatInt(int64((m.TTL+time.Second-1)/time.Second), 10)+"s")
	}
	if batch != "" {
		e.set("Nats-Batch-Id", batch)
		e.set("Nats-Batch-Sequence", strconv.Itoa(number))
		if last {
			e.set("Nats-Batch-Commit", "1")
		}
	}
	return &e.msg
}

func (e *envelope) set(name, value string) {
	if e.used == len(e.values) {
		e.msg.Header[name] = []string{value}
		return
	}
	one := e.values[e.used : e.used+1 : e.used+1]
	one[0], e.msg.Header[name] = value, one
	e.used++
}

// addedHeaders is more than the bytes of the headers that fill adds to those of a message, but for its
// id, and of what is around all headers.
const addedHeaders = 512
