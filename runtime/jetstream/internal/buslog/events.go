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

// keyText is a partition key in a header: a text of JSON, which every language reads. A key that is no Unicode cannot
// be one.
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

// What the stream holds, by the first token behind its name. JETSTREAM has a table.
const (
	eventToken    = "e" // NAME.e.PP.TYPE: an event; PP is its slot, two hexadecimal digits; or NAME.e.made.ID
	registryToken = "n" // NAME.n: types, subscriptions, pauses
	cursorToken   = "c" // NAME.c.SUB and, of its parts, NAME.c.SUB.N: where a subscription stands, and its owner
	memberToken   = "o" // NAME.o: the processes that share subscriptions
	rowToken      = "d" // NAME.d.SUB.SEQ: a delivery that did not simply go well
	keyToken      = "k" // NAME.k.HASH: an idempotency key
	auditToken    = "a" // NAME.a.ID: what an operator has done
	schemaToken   = "s" // NAME.s.HASH: the schema of a type's payload
	limitToken    = "l" // NAME.l: the time by which limits count; NAME.l.HH: what some of their rates have used
	timeToken     = "t" // NAME.t: where the schedules stand
	activityToken = "v" // NAME.v: what the dispatching processes show
	requestToken  = "q" // NAME.q: what operators ask of them
	askToken      = "r" // NAME.r.SUB.SEQ: a wish to have a delivery cancelled
	arrivalToken  = "m" // NAME.m: how far a move from another engine has come; stays when it is done
	pruneToken    = "p" // NAME.p: which events were deleted; kept for a while
	calledToken   = "b" // NAME.b.INSTANCE: the suspects whose handlers a process has called; NAME.b.INSTANCE.note: see replaced.go
	historyToken  = "h" // NAME.h: how many were, and where
	inboxToken    = "i" // NAME.i: how far the messages of the inbox were taken in
)

// slots is how many kinds of events there are, by their partition key or id.
const slots = 64

// slotOf returns the slot of an event, from 0 on: that of its partition key, or of its id if
// its type has none. Events of one key have one slot, in whatever version of the type.
func slotOf(r *engine.Record) int { return slotFor(r.Key, r.Keyed, r.ID) }

func slotFor(key string, keyed bool, id uuid.UUID) int {
	h := uint32(2166136261) // FNV-1a
	if key != "" || keyed {
		for i := range len(key) {
			h = (h ^ uint32(key[i])) * 16777619
		}
	} else {
		for _, b := range id {
			h = (h ^ uint32(b)) * 16777619
		}
	}
	return int(h % slots)
}

func (c *conn) subject(tokens ...string) string {
	return c.stream.Name() + "." + strings.Join(tokens, ".")
}

func (c *conn) eventSubject(r *engine.Record) string {
	const digits = "0123456789abcdef"
	slot := slotOf(r)
	return c.stream.Name() + "." + eventToken + "." + digits[slot/16:slot/16+1] + digits[slot%16:slot%16+1] + "." + token(r.Type)
}

// cursorSubject returns the subject of a cursor: of the whole, or of a part.
func (c *conn) cursorSubject(sub string, at int) string {
	if at == whole {
		return c.subject(cursorToken, sub)
	}
	return c.subject(cursorToken, sub, strconv.Itoa(at))
}

// madeSubject returns the subject of an event that an operator has made. There is one of an
// id at most, and it is found by it.
func (c *conn) madeSubject(id uuid.UUID) string { return c.subject(eventToken, "made", id.String()) }

func (c *conn) rowSubject(sub string, seq int64) string {
	return c.subject(rowToken, sub, strconv.FormatInt(seq, 10))
}

// token makes a name fit into a subject. The message has the name itself.
func token(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '*' || r == '>' {
			return '_'
		}
		return r
	}, name)
}

// split returns the tokens of a subject behind the name of the stream.
func split(subject string) (kind string, rest string) {
	_, behind, _ := strings.Cut(subject, ".")
	kind, rest, _ = strings.Cut(behind, ".")
	return kind, rest
}
