package engine

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/plainjson"
)

// Record is an event as the log keeps it.
type Record struct {
	Seq       int64 // position in the log, set by Append; order is by Seq, never by time
	ID        uuid.UUID
	Type      string
	Version   int       // of the payload; 0 stands for 1
	Payload   []byte    // JSON; shared between consumers, so never written to
	Metadata  []byte    // a JSON object of strings, or nil
	CreatedAt time.Time // as [Now] gives it

	// Key is the partition key. The publisher sets it if the log stores keys
	// ([Traits].StoresKeys). Where it is empty the key is computed from the payload.
	Key string
	// Keyed says that the event's type has partition keys, so that an empty Key is one, too.
	Keyed bool
	// Express is set for an event that goes ahead of a backlog, see [Source].Express.
	Express   Express
	Duplicate bool // set by Append: nothing was stored, ID and Seq are the first event's
	IfWanted  bool // of a staged record: stored only if some subscription matches its type

	// Memo is shared by the deliveries of one event to several consumers of this
	// process; nil if there is one delivery only.
	Memo *Memo

	// Origin is set for an event that an operator has edited or imported, by engines that
	// need it; nil for what was published.
	Origin *Origin

	// Unreadable is why the log cannot hand over the payload and the metadata, which are nil then; nil for nearly all.
	Unreadable error

	Due    time.Time // not delivered before; zero for at once
	Dedupe *Dedupe   // nil without an idempotency key
	// Once is the ID again, of a record that may have been stored before: then Append makes it a Duplicate of itself,
	// before its idempotency key is looked at. The log knows it for as long as it keeps the event, or for [OnceTime].
	// It is nil for all others.
	Once *uuid.UUID
}

// Express says how far an event goes ahead of others.
type Express int8

// The zero value goes ahead of nothing.
const (
	High Express = 1 + iota
	Critical
)

// Now returns the time as every log gives it back: in UTC, in whole microseconds, without a monotonic clock. So an
// event that comes from memory looks the same as one that was read.
func Now() time.Time { return Stored(time.Now()) }

// Stored returns what a log gives back of a time.
func Stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// OnceTime is how long a log that cannot look an event up by its id knows [Record].Once.
const OnceTime = 24 * time.Hour

// MaxPayload is how many bytes of JSON the payload of an event has at most, whatever the engine, and MaxMetadata is that
// for its metadata. To write a payload takes several times its size.
const (
	MaxPayload  = 64 << 20
	MaxMetadata = 1 << 20
)

// MaxBatch is how many bytes all payloads of a batch have together. Tests make it small.
var MaxBatch = 256 << 20

// Dedupe is an idempotency key: an event of the same type and key that was
// stored before and is still remembered is not stored again.
type Dedupe struct {
	Key     string
	Expires time.Time // when the key may be forgotten
	// Scope is what the key is one of, instead of those of the event's type; empty for the type. Then Digest
	// tells whether two events are the same, instead of their payloads.
	Scope  string
	Digest [sha256.Size]byte
	// Same is an event of which the publisher knows that it is the same as this one, although its payload is
	// other JSON; uuid.Nil for none.
	Same uuid.UUID
	// Settled, of a staged record that is no Duplicate, is called once its disposition is
	// stored, before those who wait for that are woken. With a nil error first is the event
	// that has the key: the record's own ID, or another one's if the record was dropped for
	// it. A *ConflictError says that the record was dropped for one with another payload, and
	// any other error that it can never be stored.
	// Settled must neither block nor call the log. It may be nil.
	Settled func(first uuid.UUID, err error)
}

// KeyType returns the type that the idempotency key of a record belongs to: that of the record or, with a
// scope, one of the bus's own.
func (r *Record) KeyType() string {
	if r.Dedupe.Scope == "" {
		return r.Type
	}
	return string(OwnType) + "keys." + r.Dedupe.Scope
}

// KeyVersion returns the version of the payload for those who compare. What has different versions cannot be
// compared.
func (r *Record) KeyVersion() int {
	if r.Dedupe.Scope == "" {
		return max(r.Version, 1)
	}
	return 1
}

// SameAs reports whether the event that has the key of r is the same, for one whose payload has the version of r.
// digest is its KeyDigest, or empty if that is not known. stored reads its payload; it is called if the digests
// differ, and returns nil for an event that was pruned. Of payloads the values are compared, however they are written.
func (r *Record) SameAs(first uuid.UUID, digest []byte, stored func() ([]byte, error)) (bool, error) {
	if own := r.KeyDigest(); bytes.Equal(own[:], digest) || r.Dedupe.Same == first {
		return true, nil
	}
	if r.Dedupe.Scope != "" {
		return false, nil
	}
	payload, err := stored()
	if err != nil || payload == nil {
		return len(digest) == 0, err
	}
	return plainjson.Same(r.Payload, payload), nil
}

// KeyDigest returns what is compared first.
func (r *Record) KeyDigest() [sha256.Size]byte {
	if r.Dedupe.Scope == "" {
		return sha256.Sum256(r.Payload)
	}
	return r.Dedupe.Digest
}

// Origin says where an event comes from that was not published. It is for one subscription,
// or for those to which it was imported.
type Origin struct {
	Consumer string    // the engine's name for the subscription
	Parent   uuid.UUID // the event that was edited into it; uuid.Nil for an imported one
}

// OwnType marks the event types that are the bus's own. No glob matches them; a
// subscription gets one of them if its pattern is the type itself.
const OwnType = '$'

// IsOwn reports whether a name, which a damaged log may have without a character, is that of one of the bus's own types.
func IsOwn(name string) bool { return name != "" && name[0] == OwnType }

// DeadType returns the bus's own event type for the dead-letter notices of a type.
func DeadType(eventType string) string { return string(OwnType) + "dead." + eventType }

// Memo remembers one thing that was computed from a record, such as its
// decoded payload, so that it is computed once for all who share the record.
// It is safe for concurrent use.
type Memo struct {
	once  sync.Once
	value any
	err   error
}

// Get returns what compute has returned for the first caller.
func (m *Memo) Get(compute func() (any, error)) (any, error) {
	m.once.Do(func() { m.value, m.err = compute() })
	return m.value, m.err
}
