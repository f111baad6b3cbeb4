package engine

import (
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
)

// Keys are the idempotency keys of records that are about to be stored together. The log
// does not know them yet.
type Keys map[typeKey]keyed

type typeKey struct{ eventType, key string }

// keyed is the first record that has a key.
type keyed struct {
	id      uuid.UUID
	version int
	digest  [sha256.Size]byte
	payload []byte
}

// Recognise makes a record a Duplicate of an earlier one that has its key, or is the same by its Once, and notes both
// otherwise. A *ConflictError says that the payloads differ. Records without a key, and those
// that are duplicates, it leaves as they are. The Seq of a new duplicate is 0.
func (k Keys) Recognise(r *Record) error {
	if r.Once != nil && !r.Duplicate {
		at := typeKey{"", string(r.Once[:])} // no type has this name
		if _, r.Duplicate = k[at]; !r.Duplicate {
			k[at] = keyed{}
		}
	}
	if r.Dedupe == nil || r.Duplicate {
		return nil
	}
	at := typeKey{r.KeyType(), r.Dedupe.Key}
	first, known := k[at]
	switch {
	case !known:
		k[at] = keyed{r.ID, r.KeyVersion(), r.KeyDigest(), r.Payload}
		return nil
	case first.version == r.KeyVersion():
		same, err := r.SameAs(first.id, first.digest[:], func() ([]byte, error) { return first.payload, nil })
		if err != nil {
			return err
		}
		if !same {
			return &event.ConflictError{EventType: r.Type, Key: r.Dedupe.Key, First: first.id}
		}
	}
	r.ID, r.Seq, r.Duplicate = first.id, 0, true
	return nil
}
