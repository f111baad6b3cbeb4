package buslog

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// pruning remembers how far the log was looked at for events to prune, so that it is not read
// from the beginning each time.
type pruning struct {
	mu   sync.Mutex
	from int64            // what is before was looked at; 0 for nothing
	kept []*engine.Record // what is before, and was needed then, without payloads
}

// mostKept is how many events are remembered. Later ones are read again.
const mostKept = 1 << 16

// Prune implements [engine.Maintainer]. The newest event stays.
func (l *Log) Prune(ctx context.Context, before time.Time) (count int, err error) {
	if err := l.sync(ctx); err != nil {
		return 0, err
	}
	l.pruning.mu.Lock()
	defer l.pruning.mu.Unlock()
	look := pruneLook{before: before}
	if err := l.enter(); err != nil {
		return 0, err
	}
	var old []*engine.Record
	for _, r := range l.pruning.kept {
		if l.prunable(r, before) {
			old = append(old, r)
		} else {
			look.kept = append(look.kept, r)
		}
	}
	from := max(l.pruning.from, 1)
	l.pruning.from, l.pruning.kept = 0, nil // until all is well
	l.mu.Unlock()
	for complete := true; ; {
		for len(old) > 0 {
			deleted, looked, err := l.forget(ctx, old[:min(len(old), pruneStep)])
			if count += deleted; err != nil {
				return count, l.storage("prune", err)
			}
			complete = complete && deleted == looked // else some are needed again
			old = old[looked:]
		}
		if from == 0 {
			if complete {
				l.pruning.from, l.pruning.kept = look.again, look.kept
			}
			return count, nil
		}
		if err := l.enter(); err != nil {
			return count, err
		}
		old, from, err = l.old(ctx, from, &look)
		l.mu.Unlock()
		if err != nil {
			return count, err
		}
	}
}

// pruneLook is a search for events to prune.
type pruneLook struct {
	before time.Time
	kept   []*engine.Record // that are needed
	again  int64            // the first event that has to be looked at again; 0 for none yet
}

// see notes an event that was looked at, and reports whether it can be pruned.
func (p *pruneLook) see(rd *reader, r *engine.Record) bool {
	switch {
	case rd.prunable(r, p.before):
		return true
	case p.again > 0:
	case !r.CreatedAt.Before(p.before) || len(p.kept) == mostKept:
		p.again = r.Seq
	default:
		p.kept = append(p.kept, r)
	}
	return false
}

// prunable reports whether an event is not needed, and is old enough.
func (rd *reader) prunable(r *engine.Record, before time.Time) bool {
	return r.CreatedAt.Before(before) && !slices.ContainsFunc(rd.inOrder(), func(s *sub) bool { return s.needs(r) })
}

// old returns events from a sequence number on that are not needed and old enough, without their payloads, and where
// to go on; 0 if there are no more.
func (rd *reader) old(ctx context.Context, from int64, look *pruneLook) (old []*engine.Record, next int64, err error) {
	var newest *engine.Record
	young := 0
	err = rd.each(ctx, from, func(r *engine.Record) bool {
		if young++; r.CreatedAt.Before(look.before) {
			young = 0
		}
		if newest != nil && look.see(rd, newest) {
			old = append(old, newest)
		}
		newest = &engine.Record{Seq: r.Seq, ID: r.ID, Type: r.Type, Key: r.Key, Keyed: r.Keyed, Origin: r.Origin, CreatedAt: r.CreatedAt}
		if len(old) == pruneRound {
			next = r.Seq
			return false
		}
		return young < pruneStep // their order is nearly that of the log
	})
	if next == 0 && look.again == 0 { // it may not be the newest one any more
		if look.again = from; newest != nil {
			look.again = newest.Seq
		}
	}
	return old, next, err
}

// pruneRound is how many events are looked up at a time.
const pruneRound = 16 * pruneStep

// pruneStep is how many events are deleted at a time.
const pruneStep = 256

// pruned is the record of events that were deleted, for processes that have yet to read them.
type pruned struct {
	Seqs []int64 `json:"seqs"`
}

// forget deletes events and the rows of their deliveries, which are settled. Those that are
// needed again stay. It looks at so many events as fit into a batch with their rows.
func (l *Log) forget(ctx context.Context, old []*engine.Record) (deleted, looked int, err error) {
	var p pruned
	var h pruneHistory
	err = l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		l.mu.Unlock()
		h, err = l.history(ctx)
		if l.mu.Lock(); err != nil {
			return nil, err
		}
		p.Seqs, looked = nil, 0
		all := l.inOrder()
		for _, r := range old {
			if len(msgs) >= batchRoom {
				break
			}
			looked++
			if slices.ContainsFunc(all, func(s *sub) bool { return s.needs(r) }) {
				continue
			}
			p.Seqs = append(p.Seqs, r.Seq)
			for _, s := range all {
				if s.rows[r.Seq] != nil {
					msgs = append(msgs, l.rowMsg(s.ID, &row{rowEvent: rowEvent{Seq: r.Seq}, gone: true}, s.revOf(r.Seq)))
				}
			}
		}
		if len(p.Seqs) == 0 {
			return nil, nil
		}
		data, _ := json.Marshal(p)
		msgs = append(msgs, l.historyMsg(h, p.Seqs))
		return append(msgs, &stream.Msg{Subject: l.subject(pruneToken), Data: data, TTL: goneTime}), nil
	})
	if err != nil {
		return 0, 0, err
	}
	for i, seq := range p.Seqs {
		if err := l.stream.Delete(ctx, seq); err != nil {
			return i, 0, err
		}
	}
	return len(p.Seqs), looked, nil
}

// applyPruned forgets events that are deleted.
func (v *logView) applyPruned(p pruned) {
	gone := map[int64]bool{}
	for _, seq := range p.Seqs {
		gone[seq] = true
		for w := range v.watches {
			if seq > w.after && seq > w.began {
				w.passed++
			}
		}
	}
	v.ring.remove(gone)
	v.ahead.remove(gone)
}

// needs reports whether an event is open for a subscription, or a dead letter.
func (s *sub) needs(r *engine.Record) bool {
	if row := s.rows[r.Seq]; row != nil {
		return row.State.Open() || row.State == ledger.Dead
	}
	return s.pending(r)
}

// pruneHistory is the record of what was pruned, for processes that follow the log and
// come late. The newest sequence numbers are kept one by one, and older ones as counts.
type pruneHistory struct {
	Parts []prunedPart `json:"parts,omitempty"` // in the order in which they were pruned
	// Newest has the differences of the sequence numbers that are kept one by one, as varints.
	Newest []byte `json:"newest,omitempty"`

	rev int64
}

// prunedPart is a number of events between two sequence numbers.
type prunedPart struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	N    int64 `json:"n"`
}

// How much a history has: sequence numbers, and parts.
const (
	prunedSeqs  = 16384
	prunedParts = 512
)

// history reads the record of what was pruned.
func (c *conn) history(ctx context.Context) (h pruneHistory, err error) {
	m, err := c.stream.LastOf(ctx, c.subject(historyToken))
	if errors.Is(err, stream.ErrNotFound) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	h.rev = m.Seq
	return h, json.Unmarshal(m.Data, &h)
}

// historyMsg returns the message of a history with more events.
func (c *conn) historyMsg(h pruneHistory, more []int64) *stream.Msg {
	data, _ := json.Marshal(h.with(more))
	return &stream.Msg{Subject: c.subject(historyToken), Data: data, Only: true, Expect: stream.Expecting(h.rev)}
}

// with returns the history with more events.
func (h pruneHistory) with(more []int64) (all pruneHistory) {
	seqs := append(h.seqs(), more...)
	all.Parts = append(all.Parts, h.Parts...)
	if cut := len(seqs) - prunedSeqs; cut > 0 {
		cut += prunedSeqs / 4 // so that there are few parts
		part := prunedPart{From: seqs[0], To: seqs[0], N: int64(cut)}
		for _, seq := range seqs[:cut] {
			part.From, part.To = min(part.From, seq), max(part.To, seq)
		}
		all.Parts, seqs = append(all.Parts, part), seqs[cut:]
	}
	if len(all.Parts) > prunedParts {
		var merged []prunedPart
		for i := 0; i+1 < len(all.Parts); i += 2 {
			a, b := all.Parts[i], all.Parts[i+1]
			merged = append(merged, prunedPart{min(a.From, b.From), max(a.To, b.To), a.N + b.N})
		}
		all.Parts = append(merged, all.Parts[len(merged)*2:]...)
	}
	before := int64(0)
	for _, seq := range seqs {
		all.Newest = binary.AppendVarint(all.Newest, seq-before)
		before = seq
	}
	return all
}

// seqs returns the sequence numbers that are kept one by one.
func (h pruneHistory) seqs() (all []int64) {
	at := int64(0)
	for rest := h.Newest; len(rest) > 0; {
		step, n := binary.Varint(rest)
		if n <= 0 {
			break
		}
		at += step
		all, rest = append(all, at), rest[n:]
	}
	return all
}

// within counts the events behind a sequence number, up to another. Of a part that is only
// partly there it takes a share.
func (h pruneHistory) within(after, end int64) (n int64) {
	for _, seq := range h.seqs() {
		if seq > after && seq <= end {
			n++
		}
	}
	for _, p := range h.Parts {
		if both := min(end, p.To) - max(after+1, p.From) + 1; both > 0 {
			n += p.N * both / (p.To - p.From + 1)
		}
	}
	return n
}

// prunedWithin counts the events that were pruned behind a sequence number, up to another.
func (rd *reader) prunedWithin(ctx context.Context, after, end int64) (int64, error) {
	rd.mu.Unlock()
	h, err := rd.history(ctx)
	rd.mu.Lock()
	return h.within(after, end), rd.storage("read", err)
}
