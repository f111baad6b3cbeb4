package buslog

import (
	"context"
	"errors"
	"slices"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// How many sequence numbers are read at a time, going backwards. Where few of them are
// events, the step grows.
const (
	backStep    = 512
	maxBackStep = 8192
)

// eachBack calls f with the events up to a sequence number, the newest first, until it
// returns false. It reads no more of the log than that takes. The caller holds mu, which is
// free while the server is asked.
func (rd *reader) eachBack(ctx context.Context, seq int64, f func(r *engine.Record) bool) error {
	for step := int64(backStep); seq > 0; {
		from := max(1, seq-step+1)
		var part []*engine.Record
		err := rd.eachUntil(ctx, from, seq, func(r *engine.Record) bool {
			part = append(part, r)
			return true
		})
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(part) {
			if !f(r) {
				return nil
			}
		}
		if seq = from - 1; int64(len(part)) < step/8 {
			step = min(2*step, maxBackStep)
		}
	}
	return nil
}

// oldest returns the oldest event, or nil if there is none. The caller holds mu, which is
// free while the server is asked.
func (rd *reader) oldest(ctx context.Context) (*engine.Record, error) {
	rd.mu.Unlock()
	defer rd.mu.Lock()
	for from := int64(1); ; {
		m, err := rd.stream.NextOf(ctx, rd.subject(eventToken, ">"), from)
		if errors.Is(err, stream.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, rd.storage("read", err)
		}
		r, err := eventOf(m)
		if err == nil {
			return r, nil
		}
		rd.noteForeign(m, err)
		from = m.Seq + 1
	}
}
