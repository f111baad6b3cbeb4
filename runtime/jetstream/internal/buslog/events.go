package buslog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The headers of events. The body is the payload. Programs in other languages read them, so docs/jetstream.md
// promises them: id, type, version, time and content type are in each message, and the others where there is something
// to say. Older messages may lack the version, which is 1 then, and the content type; and some that operators have
// made have their id in idHeader.
const (
	idHeader       = "Busgen-Id"
	serverIDHeader = "Nats-Msg-Id"
	typeHeader     = "Busgen-Type"
	versionHeader  = "Busgen-Version"
	createdHeader  = "Busgen-Created"
	contentHeader  = "Content-Type"
	metadataHeader = "Busgen-Metadata"
	keyHeader      = "Busgen-Key"
	dueHeader      = "Busgen-Due"
	forHeader      = "Busgen-For"    // of an event that an operator has made: the subscription
	parentHeader   = "Busgen-Parent" // of one that was edited: the event before
)

// eventMsg returns the message of an event.
func (c *conn) eventMsg(r *engine.Record) *stream.Msg {
	m := new(stream.Msg)
	c.fillEvent(m, r, timeText(r.CreatedAt))
	return m
}

// timeText is a time in a header.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// fillEvent makes an empty message that of an event; created is when that was, as text.
func (c *conn) fillEvent(m *stream.Msg, r *engine.Record, created string) {
	o := r.Origin
	m.ID, m.Data, m.Header = r.ID.String(), r.Payload, append(make([]stream.Header, 0, 5),
		stream.Header{Name: typeHeader, Value: r.Type}, stream.Header{Name: versionHeader, Value: strconv.Itoa(max(r.Version, 1))},
		stream.Header{Name: createdHeader, Value: created}, stream.Header{Name: contentHeader, Value: jsonContent})
	add := func(name, value string) { m.Header = append(m.Header, stream.Header{Name: name, Value: value}) }
	if len(r.Metadata) > 0 {
		add(metadataHeader, string(r.Metadata))
	}
	if r.Key != "" || r.Keyed {
		add(keyHeader, keyText(r.Key))
	}
	if !r.Due.IsZero() {
		add(dueHeader, timeText(r.Due))
	}
	if o == nil {
		m.Subject = c.eventSubject(r)
		return
	}
	add(forHeader, o.Consumer)
	if o.Parent != uuid.Nil {
		add(parentHeader, o.Parent.String())
	}
	m.Subject, m.Expect = c.madeSubject(r.ID), stream.Expecting(0)
}

// jsonContent is the content type of all payloads.
const jsonContent = "application/json"

// keyText is a partition key in a header: a text of JSON, which every language reads. What is no Unicode cannot be one.
func keyText(key string) string {
	if !utf8.ValidString(key) {
		return strconv.Quote(key)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.Encode(key)
	return strings.TrimSuffix(text.String(), "\n")
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
	if r.ID, err = uuid.Parse(cmp.Or(first(m.Header, idHeader), first(m.Header, serverIDHeader))); err != nil || r.Type == "" {
		return nil, fmt.Errorf("message %d (%s) is no event of busgen", m.Seq, m.Subject)
	}
	r.Version = 1
	if text := first(m.Header, versionHeader); text != "" {
		r.Version, _ = strconv.Atoi(text)
	}
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
