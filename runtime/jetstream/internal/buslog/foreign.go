package buslog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Any client that may publish to the servers can publish under the subjects of the bus by mistake.
// Such a message is passed over. Under the subject of a record it hides the record, which is still
// there: it is read, so that the bus opens, but it cannot be replaced until an operator has
// deleted the message. The bus does not, because it could be one of a newer version.

// passedAgain is when to look again whether a message that hides a cursor is deleted.
const passedAgain = 10 * time.Second

// pass notes that a message is none of the bus.
func (v *logView) pass(m stream.Stored, why error) {
	switch kind, _ := split(m.Subject); kind {
	case registryToken, cursorToken, memberToken, rowToken, auditToken, schemaToken, limitToken, timeToken, activityToken, requestToken, askToken:
	default:
		v.logger.Error("a message of the event log cannot be read", "seq", m.Seq, "subject", m.Subject, "error", why)
		return
	}
	if v.hiding[m.Subject] == m.Seq {
		return // it is known
	}
	if v.hiding == nil {
		v.hiding = map[string]int64{}
	}
	v.hiding[m.Subject] = m.Seq
	v.logger.Error("a message under the subjects of the bus is not one of the bus, and is passed over; delete it",
		"seq", m.Seq, "subject", m.Subject, "command", v.removal(m.Seq), "error", why)
}

// removal returns the command that deletes a message.
func (c *conn) removal(seq int64) string {
	return fmt.Sprintf("nats stream rmm %s %d", c.stream.Name(), seq)
}

// applyRecord applies a record, or, if the message is none of the bus, the record that it hides.
func (f *follower) applyRecord(ctx context.Context, m stream.Stored) error {
	f.mu.Lock()
	why := f.apply(m)
	if why != nil {
		f.pass(m, why)
	}
	f.mu.Unlock()
	if why == nil {
		return nil
	}
	return f.applyHidden(ctx, m)
}

// applyHidden applies the newest record of a subject that a message hides which is not one of
// the bus.
func (f *follower) applyHidden(ctx context.Context, hiding stream.Stored) error {
	for from := int64(1); ; {
		m, err := f.stream.NextOf(ctx, hiding.Subject, from)
		if errors.Is(err, stream.ErrNotFound) || err == nil && m.Seq >= hiding.Seq {
			return nil
		}
		if err != nil {
			return err
		}
		f.mu.Lock()
		f.apply(m) // or it is another one
		f.mu.Unlock()
		from = m.Seq + 1
	}
}

// isHidden returns an error if one of the records that are to be replaced is hidden.
func (f *follower) isHidden(ctx context.Context, msgs []*stream.Msg) error {
	for _, m := range msgs {
		f.mu.Lock()
		seq := f.hiding[m.Subject]
		f.mu.Unlock()
		if seq == 0 || m.Expect == nil {
			continue
		}
		switch last, err := f.stream.LastOf(ctx, m.Subject); {
		case err == nil && last.Seq == seq:
			return &event.StorageError{
				Fault: event.Foreign, Op: "change", Path: f.target, Hint: "delete it: " + f.removal(seq),
				Err: fmt.Errorf("message %d of the subject %s is not one of the bus, and hides the record before it", seq, m.Subject),
			}
		case err == nil, errors.Is(err, stream.ErrNotFound):
			f.mu.Lock()
			delete(f.hiding, m.Subject)
			f.mu.Unlock()
		}
	}
	return nil
}

// refused looks why the servers refuse a batch, beyond what the view says when it has everything.
// The error says that this will not pass by itself.
func (f *follower) refused(ctx context.Context, msgs []*stream.Msg) error {
	f.lookForGone(ctx, msgs)
	f.lookForDeleted(ctx, msgs)
	return f.isHidden(ctx, msgs)
}

// isForeign reports whether an error is that of isHidden.
func isForeign(err error) bool {
	var storage *event.StorageError
	return errors.As(err, &storage) && storage.Fault == event.Foreign
}

// goneOf returns the rows among the records that a batch replaces which are gone, as far as this process knows.
func (v *logView) goneOf(msgs []*stream.Msg) (all []goneAt) {
	for _, m := range msgs {
		kind, rest := split(m.Subject)
		if s, seq, ok := v.splitRow(rest); ok && kind == rowToken && s.gone[seq] != 0 {
			all = append(all, goneAt{s, seq, m.Subject})
		}
	}
	return all
}

// splitRow returns the subscription and the event of the subject of a row, behind its kind.
func (v *logView) splitRow(rest string) (s *sub, seq int64, ok bool) {
	id, text, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(text, 10, 64)
	s = v.subs[id]
	return s, seq, err == nil && s != nil
}

// goneAt is a row that is gone.
type goneAt struct {
	sub     *sub
	seq     int64
	subject string
}

// lookForGone asks of which rows the server has deleted the records by now.
func (f *follower) lookForGone(ctx context.Context, msgs []*stream.Msg) {
	f.mu.Lock()
	all := f.goneOf(msgs)
	f.mu.Unlock()
	for _, one := range all {
		if _, err := f.stream.LastOf(ctx, one.subject); errors.Is(err, stream.ErrNotFound) {
			f.mu.Lock()
			delete(one.sub.gone, one.seq)
			f.mu.Unlock()
		}
	}
}
