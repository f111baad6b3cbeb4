package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Programs in other languages send events to the inbox, a stream of its own. Each of its messages is appended to the
// log as an event of the bus's own type for that, in one batch with the note of how far the inbox was taken in, and
// only if no other process has written that note meanwhile: in their order and once, whichever process does it and
// whatever ends in between. Then they are deleted from the inbox.

// inbox is what a log has of its inbox.
type inbox struct {
	mu     sync.Mutex
	stream *stream.Inbox // nil while it is not open
}

// taken is the record of how far an inbox was taken in.
type taken struct {
	Created time.Time `json:"created"` // when the stream of the inbox was made
	Seq     int64     `json:"seq"`     // the newest message that was taken in
}

// How much is taken in at once.
const (
	sentMessages = 250
	sentBytes    = 1 << 20
)

var _ engine.Inbox = (*publisher)(nil)

// OpenInbox implements [engine.Inbox].
func (p *publisher) OpenInbox(ctx context.Context) error {
	return p.storage("open the inbox of", p.patiently(ctx, func() error {
		_, err := p.inbox.open(ctx, &p.conn)
		return err
	}))
}

// open returns the stream of the inbox.
func (i *inbox) open(ctx context.Context, on *conn) (*stream.Inbox, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stream != nil {
		return i.stream, nil
	}
	most, _ := on.sizes()
	opened, err := on.stream.OpenInbox(ctx, most-sentRoom)
	if err != nil {
		return nil, err
	}
	i.stream = opened
	return opened, nil
}

// lost says that the stream of the inbox is deleted.
func (i *inbox) lost() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stream = nil
}

// TakeIn implements [engine.Inbox].
func (p *publisher) TakeIn(ctx context.Context) (int, error) {
	for began := time.Now(); ; {
		if p.isClosed() {
			return 0, p.ended()
		}
		n, err := p.takeIn(ctx)
		switch {
		case errors.Is(err, stream.ErrConflict): // another process has taken this in
			return 0, nil
		case errors.Is(err, stream.ErrNoStream): // the next one makes it
			p.inbox.lost()
		case err != nil && p.waits(ctx, began, err):
			continue // what was stored is noted
		}
		return n, p.storage("take in what others have sent to", err)
	}
}

func (p *publisher) takeIn(ctx context.Context) (int, error) {
	from, err := p.inbox.open(ctx, &p.conn)
	if err != nil {
		return 0, err
	}
	now, err := from.State(ctx)
	if err != nil || now.First > now.Last {
		return 0, err
	}
	before, rev, err := p.takenIn(ctx)
	if err != nil {
		return 0, err
	}
	if !before.Created.Equal(now.Created) { // it was made anew
		before = taken{Created: now.Created}
	}
	if now.First <= before.Seq { // the process that has taken them in has ended since
		if err := from.Forget(ctx, before.Seq+1); err != nil {
			return 0, err
		}
	}
	page, err := from.Page(ctx, before.Seq+1, sentMessages, sentBytes)
	if err != nil || len(page) == 0 {
		return 0, err
	}
	if err := p.storeSent(ctx, page, taken{now.Created, page[len(page)-1].Seq}, rev); err != nil {
		return 0, err
	}
	return len(page), from.Forget(ctx, page[len(page)-1].Seq+1)
}

// storeSent appends an event for each message, and the note of how far the inbox is taken in then.
func (p *publisher) storeSent(ctx context.Context, page []stream.Stored, next taken, rev int64) error {
	records := make([]engine.Record, len(page))
	most, _ := p.sizes()
	for i := range page {
		payload, err := sentOf(&page[i], most)
		if err != nil {
			return err
		}
		records[i] = engine.Record{ID: engine.NewID(), Type: engine.InboxType, Version: 1, Payload: payload, CreatedAt: engine.Now()}
	}
	if err := p.declareTypesOf(ctx, records); err != nil {
		return err
	}
	var msgs []*stream.Msg
	for i := range records {
		msgs = append(msgs, p.eventMsg(&records[i]))
	}
	note, err := json.Marshal(next)
	if err != nil {
		return err
	}
	msgs = append(msgs, &stream.Msg{Subject: p.subject(inboxToken), Data: note, Only: true, Expect: stream.Expecting(rev)})
	if err := p.hasRoom(ctx, msgs); err != nil {
		return err
	}
	first, err := p.append(ctx, msgs...)
	if err == nil {
		p.noteStored(first + int64(len(msgs)) - 1)
	}
	return err
}

// takenIn reads the note of how far the inbox was taken in, and its sequence number.
func (c *conn) takenIn(ctx context.Context) (note taken, rev int64, err error) {
	m, err := c.stream.LastOf(ctx, c.subject(inboxToken))
	if errors.Is(err, stream.ErrNotFound) {
		return note, 0, nil
	}
	if err != nil {
		return note, 0, err
	}
	if err := json.Unmarshal(m.Data, &note); err != nil {
		return note, 0, fmt.Errorf("the note of how far the inbox was taken in: %w; delete it: %s", err, c.removal(m.Seq))
	}
	return note, m.Seq, nil
}

// sentHeaders are those that a message of the inbox may have, of those that begin as the headers of events do. The
// others are refused, and not left out.
var sentHeaders = []string{typeHeader, versionHeader, metadataHeader}

const ownHeaders = "Busgen-"

// sentRoom is what the event of a message needs beside its payload and its headers.
const sentRoom = 1 << 10

// mostBody is how much is kept of the body of a message that is no payload.
const mostBody = 4 << 10

// sentOf returns the payload of the event for a message of the inbox, whose subject is the type: at most so many bytes.
// Faults of the message become part of it.
func sentOf(m *stream.Stored, most int) ([]byte, error) {
	s := engine.Sent{ID: first(m.Header, serverIDHeader), Type: m.Subject}
	wrong := func(format string, args ...any) {
		if s.Problem == "" {
			s.Problem = fmt.Sprintf(format, args...)
		}
	}
	if said, given := m.Header[typeHeader]; given {
		if s.Type = said[0]; token(s.Type) != m.Subject {
			wrong("the header %s is %q, and the subject says %q", typeHeader, s.Type, m.Subject)
		}
	}
	if said, given := m.Header[versionHeader]; given {
		var err error
		if s.Version, err = strconv.Atoi(said[0]); err != nil || s.Version < 1 {
			wrong("the header %s is %q, and not a version from 1 on", versionHeader, said[0])
		}
	}
	if said, given := m.Header[metadataHeader]; given {
		if err := json.Unmarshal([]byte(said[0]), &s.Metadata); err != nil {
			wrong("the header %s is not a JSON object of texts: %v", metadataHeader, err)
		}
	}
	if said, given := m.Header[contentHeader]; given {
		if of, _, err := mime.ParseMediaType(said[0]); err != nil || of != jsonContent {
			wrong("the header %s is %q: payloads are %s", contentHeader, said[0], jsonContent)
		}
	}
	for _, header := range slices.Sorted(maps.Keys(m.Header)) {
		all := m.Header[header]
		if strings.HasPrefix(header, ownHeaders) && !slices.Contains(sentHeaders, header) {
			wrong("nothing can be done with the header %s, of those that begin so there may be %s", header, strings.Join(sentHeaders, ", "))
		}
		if len(all) > 1 && (strings.HasPrefix(header, ownHeaders) || header == serverIDHeader || header == contentHeader) {
			wrong("the header %s is there %d times", header, len(all))
		}
	}
	if s.Payload = m.Data; !json.Valid(m.Data) || !utf8.Valid(m.Data) {
		s.Payload, s.Body = nil, cutText(strings.ToValidUTF8(string(m.Data), "\uFFFD"), mostBody)
		wrong("the body is not JSON in UTF-8")
	}
	data, err := s.Encode()
	if err == nil && len(data) <= most {
		return data, nil
	}
	wrong("the message has %d bytes, and its event would have %d, of at most %d", len(m.Data), len(data), most)
	s.Payload, s.Metadata, s.Body = nil, nil, cutText(strings.ToValidUTF8(string(m.Data), "\uFFFD"), mostBody)
	return s.Encode()
}
