package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// InboxSuffix is what the name of an inbox has behind that of its stream.
const InboxSuffix = "-inbox"

// Inbox is a second stream, for clients that may not publish to the stream of the bus. There, a client that may
// publish under any subject can delete everything: roll-ups are allowed.
type Inbox struct{ beside *Stream }

// OpenInbox opens the inbox of the stream, and makes it if there is none: with the replicas and the place of the stream,
// and for messages of so many bytes at most. The error is a *[ForeignError] if there is another stream of that name.
func (s *Stream) OpenInbox(ctx context.Context, most int) (*Inbox, error) {
	beside := &Stream{nc: s.nc, js: s.js, name: s.name + InboxSuffix, api: s.api, denials: s.denials}
	existing, err := beside.lookUp(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		existing, err = beside.create(ctx, Settings{Replicas: s.config.Replicas, Change: func(c *jetstream.StreamConfig) {
			c.Storage, c.Placement, c.MaxBytes, c.MaxMsgSize = s.config.Storage, s.config.Placement, s.config.MaxBytes/inboxShare, int32(most)
			c.AllowAtomicPublish, c.AllowRollup, c.AllowMsgTTL = false, false, false
			c.Duplicates = shortestDuplicates
		}}, checkInbox)
	}
	if err != nil {
		return nil, err
	}
	return &Inbox{beside}, checkInbox(existing.CachedInfo().Config)
}

// shortestDuplicates is the shortest time that servers know ids. The bus knows them for longer, and looks at what it
// refuses, where the servers drop what has the id of another message without a word.
const shortestDuplicates = 100 * time.Millisecond

// inboxShare says which part of the limit of the stream its inbox has as its own limit.
const inboxShare = 10

// checkInbox refuses a stream which is not safe to let others publish to, or which may lose what they send.
func checkInbox(c jetstream.StreamConfig) error {
	switch {
	case len(c.Subjects) != 1 || c.Subjects[0] != c.Name+".>" || c.Mirror != nil || len(c.Sources) > 0 || c.SubjectTransform != nil:
		return &ForeignError{c.Name + " has other subjects than an inbox"}
	case c.AllowRollup:
		return &ForeignError{c.Name + " allows roll-ups, by which whoever may publish can delete everything"}
	case c.DenyPurge || c.Sealed || !c.AllowDirect || c.NoAck:
		return &ForeignError{c.Name + " does not allow what a bus does with its inbox: direct gets, acknowledgements and purges"}
	}
	return keepsAll(c)
}

// InboxState is what the leader says about an inbox.
type InboxState struct {
	State
	First int64 // the sequence number of the oldest message; beyond Last if there is none
}

// State asks the leader. The error matches [ErrNoStream] if the inbox is deleted.
func (i *Inbox) State(ctx context.Context) (InboxState, error) {
	info, err := i.beside.info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return InboxState{}, ErrNoStream
	}
	if err != nil {
		return InboxState{}, err
	}
	return InboxState{State{info.Created, int64(info.State.LastSeq)}, int64(info.State.FirstSeq)}, nil
}

// Page returns up to limit messages from a sequence number on, as [Stream.Page] does, and what each is to be: the last
// part of its subject.
func (i *Inbox) Page(ctx context.Context, from int64, limit, bytes int) ([]Stored, error) {
	page, err := i.beside.Page(ctx, from, i.beside.name+".>", limit, bytes)
	for n := range page {
		page[n].Subject = page[n].Subject[len(i.beside.name)+1:]
	}
	return page, err
}

// Forget deletes the messages before a sequence number.
func (i *Inbox) Forget(ctx context.Context, before int64) error {
	return i.beside.Purge(ctx, i.beside.name+".>", before)
}
