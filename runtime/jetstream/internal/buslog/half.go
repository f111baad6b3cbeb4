package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// The servers store a batch whole or not at all, but a server that loses the end of what it has stored, as in a power cut
// without sync_interval: always, may keep the first messages of a batch: TestHalfOfABatchWasNeverPublished cuts the file of
// a real one. It repairs a batch while it still has a copy of it, which it deletes with the commit.
//
// Half of a batch was never published. A process that sees it deletes it from the stream, so that no reader gets it:
// not in pages, not ahead, and no tool. It is looked for where it is: at the end of the stream, when a log is opened
// and when its reader begins again; and in what arrives.
//
// The message behind half a batch is of something else. A batch whose last message was replaced or deleted has a gap
// there: it is whole.

// renewed is called when the reader begins again.
func (f *follower) renewed() {
	f.verify()
	if now, err := f.state(context.Background()); err == nil {
		f.settleEnd(context.Background(), now.Last)
	}
}

// passHalf passes over half of a batch in what arrives.
func (f *follower) passHalf() {
	last := f.batch[len(f.batch)-1]
	clear(f.batch)
	f.batch, f.applied = f.batch[:0], last.Seq
	go func() {
		err := f.patiently(context.Background(), func() error { return f.deleteHalf(context.Background(), last) })
		if err != nil && !f.isClosed() {
			f.logger.Error("the servers have lost the end of a batch; what is left of it cannot be deleted", "seq", last.Seq, "error", err)
		}
	}()
}

// isHalf reports whether a message was to be followed by others of its batch, but for another one of the stream.
func isHalf(last, next stream.Stored) bool {
	batch := first(last.Header, batchHeader)
	return batch != "" && first(last.Header, commitHeader) == "" && next.Seq == last.Seq+1 && first(next.Header, batchHeader) != batch
}

// The headers of the messages of a batch.
const (
	batchHeader  = "Nats-Batch-Id"
	numberHeader = "Nats-Batch-Sequence"
	commitHeader = "Nats-Batch-Commit"
	// replacedHeader is the number of the message that was the last one of its subject.
	replacedHeader = "Nats-Expected-Last-Subject-Sequence"
)

// settleEnd deletes half of a batch at the end of the stream.
func (f *follower) settleEnd(ctx context.Context, end int64) error {
	last, err := f.stream.Get(ctx, end)
	if errors.Is(err, stream.ErrNotFound) {
		return nil
	}
	if err != nil || first(last.Header, batchHeader) == "" || first(last.Header, commitHeader) != "" {
		return err
	}
	r, err := f.stream.LastOf(ctx, f.subject(registryToken))
	var names registry
	if err != nil || json.Unmarshal(r.Data, &names) != nil || names.Arriving != nil { // a move expects what it has stored
		return err
	}
	// It may be on its way. A message that is stored now is behind the whole batch.
	if _, err := f.note(ctx); err != nil {
		if stream.Passes(err) {
			return err
		}
		return nil // this process may not store anything
	}
	next, err := f.stream.Get(ctx, end+1)
	if errors.Is(err, stream.ErrNotFound) {
		return nil
	}
	if err != nil || !isHalf(last, next) {
		return err
	}
	return f.deleteHalf(ctx, last)
}

// deleteHalf deletes half of a batch from the stream, of which this is the last message.
func (f *follower) deleteHalf(ctx context.Context, last stream.Stored) error {
	n, _ := strconv.ParseInt(first(last.Header, numberHeader), 10, 64)
	batch, deleted := first(last.Header, batchHeader), 0
	for seq := last.Seq; seq > last.Seq-n; seq-- {
		m, err := f.stream.Get(ctx, seq)
		if errors.Is(err, stream.ErrNotFound) {
			continue
		}
		if err == nil && first(m.Header, batchHeader) == batch {
			deleted++
			err = f.deleteHalfOf(ctx, m)
		}
		if err != nil {
			return err
		}
	}
	if deleted > 0 {
		f.logger.Error("the servers have lost the end of a batch; what was left of it is deleted", "seq", last.Seq, "messages", deleted)
	}
	return nil
}

// deleteHalfOf deletes a message of half a batch. The record that it has replaced may be gone already: then it stays,
// and a delivery waits, as if its attempt had not ended. It is stored again, for processes that have passed over it.
func (f *follower) deleteHalfOf(ctx context.Context, m stream.Stored) error {
	kind, _ := split(m.Subject)
	if kind == eventToken || first(m.Header, replacedHeader) == "0" {
		return f.stream.Delete(ctx, m.Seq)
	}
	oldest, err := f.stream.NextOf(ctx, m.Subject, 1)
	if err == nil && oldest.Seq < m.Seq {
		return f.stream.Delete(ctx, m.Seq)
	}
	data := m.Data
	if err == nil && kind == rowToken {
		data, err = f.reopened(ctx, data)
	}
	if err == nil {
		_, err = f.append(ctx, &stream.Msg{Subject: m.Subject, Data: data, Only: true, Expect: stream.Expecting(m.Seq)})
	}
	if errors.Is(err, stream.ErrNotFound) || errors.Is(err, stream.ErrConflict) { // or another process was faster
		return nil
	}
	return err
}

// reopened returns the record of a row whose delivery waits.
func (c *conn) reopened(ctx context.Context, data []byte) ([]byte, error) {
	r, err := decodeRow(data)
	if err != nil || r.State.Open() {
		return data, err
	}
	if r.gone {
		m, err := c.stream.Get(ctx, r.Seq)
		if err != nil {
			return nil, err
		}
		e, err := eventOf(m)
		if err != nil {
			return nil, err
		}
		r = newRow(e)
		r.Row = ledger.Handled(e)
	}
	r.Row = r.Unended()
	return c.rowData(r), nil
}
