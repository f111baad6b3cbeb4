package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// AnswerTime is how long the server has for an answer, also to an append whose context has no deadline.
const AnswerTime = 5 * time.Second

// Msg is a message that is to be appended.
type Msg struct {
	Subject string
	ID      string // known to the server for two minutes, in which the message is not stored again
	Header  []Header
	Data    []byte
	// Expect, if set, is the sequence number of the last message of the subject: 0 for
	// none. If it is another one, nothing is stored.
	Expect *int64
	// ExpectLast, if set, is the sequence number of the last message of the whole stream. Only
	// the first message of a batch may have it.
	ExpectLast *int64
	// Only says that the message replaces those of its subject.
	Only bool
	// TTL is after how long the message is deleted; 0 for never. It is rounded up to seconds.
	TTL time.Duration
}

// Header is one header of a message. A message has none twice.
type Header struct{ Name, Value string }

// Expecting returns what [Msg].Expect wants.
func Expecting(seq int64) *int64 { return &seq }

// ack is what the server says about an append.
type ack struct {
	Error     *ServerError `json:"error"`
	Seq       int64        `json:"seq"`
	Duplicate bool         `json:"duplicate"`
}

// Append stores messages, in order, whole or not at all, and returns the sequence number
// of the first one; those of the others follow it. If the answer does not come the error
// matches [ErrInDoubt]. The context bounds the waiting; without a deadline it ends after
// AnswerTime.
//
// A single message whose ID is known returns the sequence number of the first one, and
// known.
func (s *Stream) Append(ctx context.Context, msgs ...*Msg) (first int64, known bool, err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, AnswerTime)
		defer cancel()
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		until, _ := ctx.Deadline()
		if first, known, err = s.append(ctx, until, msgs); !isBusy(err) {
			return first, known, err
		}
		select { // the server is busy with other messages
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, false, cmp.Or(err, ctx.Err())
		}
	}
}

// AppendWithin is Append for callers that wait for so long, whatever happens.
func (s *Stream) AppendWithin(d time.Duration, msgs ...*Msg) (first int64, known bool, err error) {
	until := time.Now().Add(d)
	if first, known, err = s.append(context.Background(), until, msgs); !isBusy(err) {
		return first, known, err
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	return s.Append(ctx, msgs...)
}

// Answered returns how often the server has answered to an append, whatever it has said.
func (s *Stream) Answered() uint64 { return s.pipe.answers.Load() }

// isBusy reports whether the server has refused messages because of others, which are on their
// way.
func isBusy(err error) bool {
	if err == nil {
		return false
	}
	var refused *ServerError
	return errors.As(err, &refused) && (refused.ErrCode == wrongLastInFlight || errors.Is(err, ErrBusy))
}

func (s *Stream) append(ctx context.Context, until time.Time, msgs []*Msg) (first int64, known bool, err error) {
	batch, end := "", len(msgs)-1
	if end > 0 {
		batch = nuid.Next()
	}
	for i, m := range msgs { // before the first one is sent: the server waits for the end of a batch
		if err := s.fits(m, batch, i+1, i == end); err != nil {
			return 0, false, err
		}
	}
	if end > 0 {
		var e envelope
		for i, m := range msgs[:end] {
			if err := s.nc.PublishMsg(e.fill(m, batch, i+1, false)); err != nil {
				return 0, false, err // without its end, the server drops the batch
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, false, err // without its end, the server drops the batch
	}
	answer, err := s.pipe.ask(ctx, new(envelope).fill(msgs[end], batch, end+1, true), until)
	switch {
	case errors.Is(err, ErrInDoubt):
		return 0, false, err
	case errors.As(err, new(*DeniedError)), isUnsent(err):
		return 0, false, err // no server has got it
	case err != nil:
		return 0, false, fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	if seq, plain := s.plainAck(answer.Data); plain {
		return seq - int64(len(msgs)) + 1, false, nil
	}
	var a ack
	if err := json.Unmarshal(answer.Data, &a); err != nil {
		return 0, false, fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	if a.Error != nil {
		return 0, false, s.refusal(a.Error)
	}
	return a.Seq - int64(len(msgs)) + 1, a.Duplicate, nil
}

// refusal returns the error for what the server has not stored. If its own disk has failed, other replicas have it,
// or will have it: the message was agreed upon before.
func (s *Stream) refusal(err *ServerError) error {
	if err.ErrCode == storeFailed && s.config.Replicas > 1 && !strings.Contains(err.Description, "maximum ") {
		return fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return err
}

// isUnsent reports whether an error says that no server has got a message.
func isUnsent(err error) bool {
	return slices.ContainsFunc([]error{
		nats.ErrNoResponders, nats.ErrReconnectBufExceeded, nats.ErrMaxPayload, nats.ErrConnectionClosed, nats.ErrConnectionDraining, nats.ErrBadSubject,
		nats.ErrHeadersNotSupported,
	}, func(one error) bool { return errors.Is(err, one) })
}

// plainAck returns the sequence number of an acknowledgement that has nothing but that and the
// name of the stream.
func (s *Stream) plainAck(data []byte) (seq int64, plain bool) {
	rest, ok := bytes.CutPrefix(data, s.ackPrefix)
	if !ok || len(rest) < 2 || len(rest) > 19 || rest[len(rest)-1] != '}' {
		return 0, false
	}
	for _, digit := range rest[:len(rest)-1] {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		seq = 10*seq + int64(digit-'0')
	}
	return seq, true
}

// mostHeader is how many bytes the header of a message has at most.
const mostHeader = 1<<16 - 1

// fits refuses a message that, as fill makes it, is larger than the servers and the stream allow.
func (s *Stream) fits(m *Msg, batch string, number int, last bool) error {
	header, most := addedHeaders+len(m.ID), s.MaxMessage()
	for _, h := range m.Header {
		header += len(h.Name) + len(h.Value) + len(": \r\n")
	}
	if header <= mostHeader && int64(header+len(m.Data)) <= most {
		return nil // nearly always: it has not to be made to be measured
	}
	msg := new(envelope).fill(m, batch, number, last)
	header = msg.Size() - len(msg.Subject) - len(msg.Data)
	if header > mostHeader {
		return fmt.Errorf("%w: %s has %d bytes of headers, of at most %d", ErrTooLarge, msg.Subject, header, mostHeader)
	}
	if size := int64(header + len(msg.Data)); size > most {
		return fmt.Errorf("%w: %s has %d bytes, of at most %d", ErrTooLarge, msg.Subject, size, most)
	}
	return nil
}
