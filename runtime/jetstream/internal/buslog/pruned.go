package buslog

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// pruneHistory is the record of what was pruned, for whoever follows the log and comes
// late. The newest sequence numbers are kept one by one, and older ones as counts.
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
// The caller holds mu, which is free while the server is asked.
func (rd *reader) prunedWithin(ctx context.Context, after, end int64) (int64, error) {
	rd.mu.Unlock()
	h, err := rd.history(ctx)
	rd.mu.Lock()
	return h.within(after, end), rd.storage("read", err)
}
