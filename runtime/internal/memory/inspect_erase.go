package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// Erase implements [engine.Eraser]. Everything happens at once, and memory has no space that
// could be rewritten.
func (in *inspection) Erase(_ context.Context, spec engine.Erasure) (n engine.Erased, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	erased, ids := map[int64]bool{}, map[uuid.UUID]bool{}
	in.eachFrom(in.oldest, func(r *engine.Record) {
		about := spec.Names(in.nameOf(r.Type), max(r.Version, 1), r.Payload)
		if strings.HasPrefix(r.Type, engine.DeadType("")) && ids[engine.LineageOf(r.Metadata).ParentID] {
			about = true // its event is erased
		}
		switch {
		case about && in.isOpen(r):
			n.Open++
			engine.CountErased(&n, r.Type).Open++
			if spec.AllOpen {
				n.OpenIDs = append(n.OpenIDs, r.ID)
			} else {
				n.OpenIDs = few(n.OpenIDs, r.ID)
			}
		case about:
			n.Events++
			engine.CountErased(&n, r.Type).Events++
			erased[r.Seq], ids[r.ID] = true, true
		case spec.Keyed(r.Type, max(r.Version, 1), r.Payload):
			n.Keyed++
			engine.CountErased(&n, r.Type).Keyed++
		case spec.Mentions(r.Type, r.Payload):
			n.Mentions++
			engine.CountErased(&n, r.Type).Mentions++
			n.MentionIDs = few(n.MentionIDs, r.ID)
		}
	})
	in.eraseEvents(spec, erased, &n)
	in.eraseTexts(spec, erased, &n)
	if n.Clean = !spec.DryRun; n.Clean && n.Events+n.Texts > 0 {
		in.note(engine.AuditEntry{Actor: in.actor, Action: "erase", Count: n.Events + n.Texts, Detail: spec.Detail})
	}
	if spec.Progress != nil {
		spec.Progress(n)
	}
	return n, nil
}

// isOpen reports whether some subscription has yet to settle an event.
func (s *store) isOpen(r *engine.Record) bool {
	return slices.ContainsFunc(s.subscriptions, func(sub *subscription) bool {
		switch sub.stateOf(r).State {
		case engine.StateDone, engine.StateDiscarded, engine.StateDead:
			return false
		}
		return sub.deliveries[r.Seq] != nil || sub.routes[r.Type] && sub.start < r.Seq
	})
}

// eraseEvents erases events with their deliveries. Records are shared and never changed, so
// others take their place.
func (s *store) eraseEvents(spec engine.Erasure, erased map[int64]bool, n *engine.Erased) {
	for seq := range erased {
		old := s.events[seq]
		left := *old
		left.Memo = nil
		left.Payload = spec.Redact(s.nameOf(old.Type), max(old.Version, 1), old.Payload)
		if old.Metadata != nil {
			left.Metadata = spec.Metadata(old.Metadata)
		}
		if !spec.DryRun {
			s.events[seq] = &left
		}
		for _, sub := range s.subscriptions {
			d := sub.deliveries[seq]
			if d == nil {
				continue
			}
			n.Attempts += len(d.attempts)
			if d.State == ledger.Dead {
				n.DeadLetters++
			}
			if spec.DryRun {
				continue
			}
			d.Record, d.Row = &left, d.Erase(time.Now())
			for i := range d.attempts {
				d.attempts[i].Error, d.attempts[i].Stack, d.attempts[i].Log = engine.ReasonErased, "", ""
			}
		}
	}
	if !spec.DryRun {
		maps.DeleteFunc(s.keys, func(_ dedupeKey, f first) bool { return erased[f.seq] })
	}
}

// eraseTexts erases the person from all other texts.
func (s *store) eraseTexts(spec engine.Erasure, erased map[int64]bool, n *engine.Erased) {
	clean := func(text *string) {
		left, changed := spec.Text(*text)
		if changed {
			n.Texts++
			if !spec.DryRun {
				*text = left
			}
		}
		if spec.Part(left) {
			n.Parts++
		}
	}
	for _, sub := range s.subscriptions {
		for seq, d := range sub.deliveries {
			if erased[seq] {
				continue
			}
			clean(&d.Reason)
			for i := range d.attempts {
				clean(&d.attempts[i].Error)
				clean(&d.attempts[i].Stack)
				clean(&d.attempts[i].Log)
			}
		}
	}
	for seq, r := range s.events {
		if erased[seq] {
			continue
		}
		left, changed := *r, 0
		metadata, other := spec.MetadataText(string(r.Metadata))
		if other {
			left.Metadata, changed = []byte(metadata), changed+1
		}
		if spec.Part(metadata) {
			n.Parts++
		}
		if strings.HasPrefix(r.Type, engine.DeadType("")) {
			if payload, other := spec.Notice(r.Payload); other {
				left.Payload, left.Memo, changed = payload, nil, changed+1
			}
		}
		if n.Texts += changed; changed > 0 && !spec.DryRun {
			s.events[seq] = &left
			for _, sub := range s.subscriptions {
				if d := sub.deliveries[seq]; d != nil {
					d.Record = &left
				}
			}
		}
	}
	for i := range s.audit {
		clean(&s.audit[i].Detail)
	}
	for i := range s.pauses {
		clean(&s.pauses[i].Reason)
	}
	for i := range s.activity.Breakers {
		clean(&s.activity.Breakers[i].LastError)
	}
	maps.DeleteFunc(s.keys, func(k dedupeKey, f first) bool { return !erased[f.seq] && keyNames(spec, k.key, n) })
	maps.DeleteFunc(s.limits, func(k limitKey, _ engine.LimitBucket) bool { return keyNames(spec, k.key, n) })
}

// keyNames reports whether a key with the person in it is to be deleted.
func keyNames(spec engine.Erasure, key string, n *engine.Erased) bool {
	named := spec.Key(key)
	switch {
	case named:
		n.Texts++
	case spec.Part(key):
		n.Parts++
	}
	return named && !spec.DryRun
}

func few(ids []uuid.UUID, id uuid.UUID) []uuid.UUID {
	if len(ids) < engine.ErasedIDs {
		return append(ids, id)
	}
	return ids
}
