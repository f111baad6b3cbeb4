package buslog

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The headers of events. The body is the payload.
const (
	idHeader       = "Busgen-Id"
	typeHeader     = "Busgen-Type"
	versionHeader  = "Busgen-Version"
	createdHeader  = "Busgen-Created"
	metadataHeader = "Busgen-Metadata"
	keyHeader      = "Busgen-Key"
	dueHeader      = "Busgen-Due"
	forHeader      = "Busgen-For"    // of an event that an operator has made: the subscription
	parentHeader   = "Busgen-Parent" // of one that was edited: the event before
)

// eventMsg returns the message of an event.
func (l *Log) eventMsg(r *engine.Record) *stream.Msg {
	id := r.ID.String()
	v := [4]string{id, r.Type, strconv.Itoa(max(r.Version, 1)), r.CreatedAt.UTC().Format(time.RFC3339Nano)}
	h := nats.Header{idHeader: v[0:1:1], typeHeader: v[1:2:2], versionHeader: v[2:3:3], createdHeader: v[3:4:4]}
	if len(r.Metadata) > 0 {
		h[metadataHeader] = []string{string(r.Metadata)}
	}
	if r.Key != "" || r.Keyed {
		h[keyHeader] = []string{strconv.Quote(r.Key)}
	}
	if !r.Due.IsZero() {
		h[dueHeader] = []string{r.Due.UTC().Format(time.RFC3339Nano)}
	}
	if o := r.Origin; o != nil {
		h[forHeader] = []string{o.Consumer}
		if o.Parent != uuid.Nil {
			h[parentHeader] = []string{o.Parent.String()}
		}
		return &stream.Msg{Subject: l.madeSubject(r.ID), Header: h, Data: r.Payload, Expect: stream.Expecting(0)}
	}
	return &stream.Msg{Subject: l.eventSubject(r), ID: id, Header: h, Data: r.Payload}
}

// first returns the first value of a header.
func first(h nats.Header, name string) string {
	if all := h[name]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// eventOf returns the event of a message.
func eventOf(m stream.Stored) (r *engine.Record, err error) {
	r = &engine.Record{Seq: m.Seq, Type: first(m.Header, typeHeader), Payload: m.Data}
	if r.ID, err = uuid.Parse(first(m.Header, idHeader)); err != nil || r.Type == "" {
		return nil, fmt.Errorf("message %d (%s) is no event of busgen", m.Seq, m.Subject)
	}
	r.Version, _ = strconv.Atoi(first(m.Header, versionHeader))
	r.CreatedAt, _ = time.Parse(time.RFC3339Nano, first(m.Header, createdHeader))
	if text := first(m.Header, metadataHeader); text != "" {
		r.Metadata = []byte(text)
	}
	if text := first(m.Header, keyHeader); text != "" {
		r.Key, _ = strconv.Unquote(text)
		r.Keyed = true
	}
	if text := first(m.Header, dueHeader); text != "" {
		r.Due, _ = time.Parse(time.RFC3339Nano, text)
	}
	if text := first(m.Header, forHeader); text != "" {
		r.Origin = &engine.Origin{Consumer: text}
		if text := first(m.Header, parentHeader); text != "" {
			r.Origin.Parent, err = uuid.Parse(text)
		}
	}
	return r, err
}
