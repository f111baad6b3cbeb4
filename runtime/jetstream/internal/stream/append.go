package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// answerTime is how long the server has for an answer.
const answerTime = 5 * time.Second

// Msg is a message that is to be appended.
type Msg struct {
	Subject string
	ID      string // known to the server for two minutes, in which the message is not stored again
	Header  nats.Header
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

// Expecting returns what [Msg].Expect wants.
func Expecting(seq int64) *int64 { return &seq }

func (s *Stream) message(m *Msg) *nats.Msg {
	msg := &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	if m.ID != "" {
		msg.Header["Nats-Msg-Id"] = []string{m.ID}
	}
	if m.Expect != nil {
		msg.Header["Nats-Expected-Last-Subject-Sequence"] = []string{strconv.FormatInt(*m.Expect, 10)}
	}
	if m.ExpectLast != nil {
		msg.Header["Nats-Expected-Last-Sequence"] = []string{strconv.FormatInt(*m.ExpectLast, 10)}
	}
	if m.Only {
		msg.Header["Nats-Rollup"] = []string{"sub"}
	}
	if m.TTL > 0 {
		msg.Header["Nats-TTL"] = []string{strconv.FormatInt(int64((m.TTL+time.Second-1)/time.Second), 10) + "s"}
	}
	return msg
}

// ack is what the server says about an append.
type ack struct {
	Error     *ServerError `json:"error"`
	Seq       int64        `json:"seq"`
	Duplicate bool         `json:"duplicate"`
}

// Append stores messages, in order, whole or not at all, and returns the sequence number
// of the first one; those of the others follow it. If the answer does not come the error
// matches [ErrInDoubt]. The context bounds the waiting; without a deadline it ends after
// answerTime.
//
// A single message whose ID is known returns the sequence number of the first one, and
// known.
func (s *Stream) Append(ctx context.Context, msgs ...*Msg) (first int64, known bool, err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, answerTime)
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

// AppendWithin is Append for who waits for so long, whatever happens.
func (s *Stream) AppendWithin(d time.Duration, msgs ...*Msg) (first int64, known bool, err error) {
	until := time.Now().Add(d)
	if first, known, err = s.append(context.Background(), until, msgs); !isBusy(err) {
		return first, known, err
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	return s.Append(ctx, msgs...)
}

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
	all := make([]*nats.Msg, len(msgs))
	id := ""
	if len(msgs) > 1 {
		id = nuid.Next()
	}
	for i, m := range msgs { // before the first one is sent: the server waits for the end of a batch
		msg := s.message(m)
		if id != "" {
			msg.Header["Nats-Batch-Id"] = []string{id}
			msg.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
			if i == len(msgs)-1 {
				msg.Header["Nats-Batch-Commit"] = []string{"1"}
			}
		}
		if err := s.fits(msg); err != nil {
			return 0, false, err
		}
		all[i] = msg
	}
	last := all[len(all)-1]
	for _, msg := range all[:len(all)-1] {
		if err := s.nc.PublishMsg(msg); err != nil {
			return 0, false, err // without its end, the server drops the batch
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, false, err // without its end, the server drops the batch
	}
	answer, err := s.pipe.ask(ctx, last, until)
	switch {
	case errors.Is(err, ErrInDoubt):
		return 0, false, err
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrMaxPayload):
		return 0, false, err // nobody has got it
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
		return 0, false, a.Error
	}
	return a.Seq - int64(len(msgs)) + 1, a.Duplicate, nil
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

// fits refuses a message that is larger than the servers and the stream allow.
func (s *Stream) fits(msg *nats.Msg) error {
	header := msg.Size() - len(msg.Subject) - len(msg.Reply) - len(msg.Data)
	if header > mostHeader {
		return fmt.Errorf("%w: %s has %d bytes of headers, of at most %d", ErrTooLarge, msg.Subject, header, mostHeader)
	}
	if size, most := int64(header+len(msg.Data)), s.MaxMessage(); size > most {
		return fmt.Errorf("%w: %s has %d bytes, of at most %d", ErrTooLarge, msg.Subject, size, most)
	}
	return nil
}
