package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Stored is a message of the stream.
type Stored struct {
	Subject string
	Seq     int64
	Header  nats.Header
	Data    []byte
}

// askAgain is after how long an unanswered request is sent again: servers drop requests while they have no leader.
const askAgain = 2 * time.Second

// ask sends a request to the API of the leader, which may take AnswerTime if the context has no deadline. It may be
// sent several times.
func (s *Stream) ask(ctx context.Context, subject string, request []byte, answer any) error {
	limit, began := AnswerTime, time.Now()
	if _, bounded := ctx.Deadline(); bounded {
		limit = math.MaxInt64
	}
	for {
		left := limit - time.Since(began)
		err := s.askFor(ctx, min(left, askAgain), subject, request, answer)
		if left <= askAgain || !errors.Is(err, ErrSilent) {
			return err
		}
	}
}

// askFor is ask with another time for the answer.
func (s *Stream) askFor(ctx context.Context, limit time.Duration, subject string, request []byte, answer any) error {
	mine, end := s.asking(ctx, limit, subject)
	msg, err := s.nc.RequestWithContext(mine, s.api+subject, request)
	if err = end(err); err != nil {
		return err
	}
	return json.Unmarshal(msg.Data, answer)
}

// asking returns the context of a request to the API, whose answer may take so long: servers drop requests while they
// have no leader. end ends it; then it returns the error that it is given, or what that means.
func (s *Stream) asking(ctx context.Context, limit time.Duration, subject string) (mine context.Context, end func(error) error) {
	timed, cancel := context.WithTimeout(ctx, limit)
	mine, denied := s.denials.bound(timed, s.nc, s.api+subject)
	return mine, func(err error) error {
		err = silent(ctx, denied(err), subject)
		cancel()
		return err
	}
}

// silent returns ErrSilent for an error that says that our own time for an answer has passed, and not the caller's.
func silent(ctx context.Context, err error, subject string) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w (%s)", ErrSilent, subject)
	}
	return err
}

// getRequest is that of the API.
type getRequest struct {
	Seq      int64      `json:"seq,omitempty"`
	LastFor  string     `json:"last_by_subj,omitempty"`
	NextFor  string     `json:"next_by_subj,omitempty"`
	Start    *time.Time `json:"start_time,omitempty"`
	Batch    int        `json:"batch,omitempty"`
	MaxBytes int        `json:"max_bytes,omitempty"`
}

func (s *Stream) get(ctx context.Context, r getRequest) (Stored, error) {
	m, _, err := s.getTimed(ctx, r)
	return m, err
}

// StoredAt returns when a message was stored, by the clock of the leader, or [ErrNotFound].
func (s *Stream) StoredAt(ctx context.Context, seq int64) (time.Time, error) {
	_, at, err := s.getTimed(ctx, getRequest{Seq: seq})
	return at, err
}

// getTimed returns a message, and when it was stored.
func (s *Stream) getTimed(ctx context.Context, r getRequest) (m Stored, at time.Time, err error) {
	request, _ := json.Marshal(r)
	var answer struct {
		Error   *ServerError `json:"error"`
		Message struct {
			Subject string    `json:"subject"`
			Seq     int64     `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := s.ask(ctx, "STREAM.MSG.GET."+s.name, request, &answer); err != nil {
		return m, at, err
	}
	if answer.Error != nil {
		if errors.Is(answer.Error, ErrNotFound) {
			return m, at, ErrNotFound
		}
		return m, at, answer.Error
	}
	m = Stored{Subject: answer.Message.Subject, Seq: answer.Message.Seq, Data: answer.Message.Data}
	if len(answer.Message.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(answer.Message.Header)
		if err != nil {
			return Stored{}, at, fmt.Errorf("read the header of message %d: %w", m.Seq, err)
		}
		m.Header = header
	}
	return m, answer.Message.Time, nil
}

// Get returns the message of a sequence number, by the leader, or [ErrNotFound].
func (s *Stream) Get(ctx context.Context, seq int64) (Stored, error) {
	return s.get(ctx, getRequest{Seq: seq})
}

// GetKnown is Get for callers that have read the stream up to the message known. See [ErrBehind].
func (s *Stream) GetKnown(ctx context.Context, seq, known int64) (Stored, error) {
	return s.sure(ctx, known, func() (Stored, error) { return s.Get(ctx, seq) })
}

// NextKnown is NextOf for callers that have read the stream up to the message known. See [ErrBehind].
func (s *Stream) NextKnown(ctx context.Context, subject string, seq, known int64) (Stored, error) {
	return s.sure(ctx, known, func() (Stored, error) { return s.NextOf(ctx, subject, seq) })
}

// sure asks again if nothing is found, when it has seen that the server has what is known.
func (s *Stream) sure(ctx context.Context, known int64, get func() (Stored, error)) (Stored, error) {
	m, err := get()
	if !errors.Is(err, ErrNotFound) {
		return m, err
	}
	last, err := s.Last(ctx)
	if err != nil {
		return Stored{}, err
	}
	if last < known {
		return Stored{}, ErrBehind
	}
	return get()
}

// LastOf returns the last message of a subject, by the leader, or [ErrNotFound].
func (s *Stream) LastOf(ctx context.Context, subject string) (Stored, error) {
	return s.get(ctx, getRequest{LastFor: subject})
}

// NextOf returns the first message of a subject, which may have wildcards, at a sequence number
// or later, by the leader, or [ErrNotFound].
func (s *Stream) NextOf(ctx context.Context, subject string, seq int64) (Stored, error) {
	return s.get(ctx, getRequest{Seq: seq, NextFor: subject})
}

// NextSince returns the first message that was stored at a time or later, by any replica, or
// [ErrNotFound].
func (s *Stream) NextSince(ctx context.Context, at time.Time) (Stored, error) {
	page, err := s.page(ctx, getRequest{Start: &at, Batch: 1})
	if err != nil || len(page) == 0 {
		return Stored{}, cmp.Or(err, ErrNotFound)
	}
	return page[0], nil
}

// Page returns up to limit messages of a subject, which may have wildcards, from a sequence
// number on. Any replica may answer: it has a prefix of what the leader has. No messages
// mean that the replica has no more.
func (s *Stream) Page(ctx context.Context, from int64, subject string, limit, bytes int) ([]Stored, error) {
	return s.page(ctx, getRequest{Seq: max(from, 1), NextFor: subject, Batch: limit, MaxBytes: bytes})
}

// page asks for a page until none of its messages is missing.
func (s *Stream) page(ctx context.Context, r getRequest) ([]Stored, error) {
	mine, end := s.asking(ctx, AnswerTime, "DIRECT.GET."+s.name)
	defer end(nil)
	for {
		page, err := s.pageOnce(mine, r)
		if !errors.Is(err, errGap) {
			return page, end(err)
		}
		select {
		case <-time.After(beginAgain):
		case <-mine.Done():
			return nil, err
		}
	}
}

// pageOnce is page, or fails with errGap. When the connection fails and is made again, what
// the replica sends meanwhile is lost. Each message, and the end of the page, says which one
// came before.
func (s *Stream) pageOnce(ctx context.Context, r getRequest) (page []Stored, err error) {
	request, _ := json.Marshal(r)
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := s.nc.PublishRequest(s.api+"DIRECT.GET."+s.name, inbox, request); err != nil {
		return nil, err
	}
	for before := int64(0); ; {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		said := lastOf(msg.Header, "Nats-Last-Sequence")
		gap := said != "" && said != strconv.FormatInt(before, 10)
		number := lastOf(msg.Header, "Nats-Sequence")
		if number == "" { // it is none of the stream
			switch status := msg.Header.Get("Status"); status {
			case "204", "404": // the end of the page, or of the stream
				if gap {
					return nil, errGap
				}
				return page, nil
			case "503":
				return nil, nats.ErrNoResponders
			default:
				return nil, fmt.Errorf("read messages: %s %s", status, msg.Header.Get("Description"))
			}
		}
		seq, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		if gap {
			return nil, errGap
		}
		page = append(page, Stored{Subject: lastOf(msg.Header, "Nats-Subject"), Seq: seq, Header: msg.Header, Data: msg.Data})
		before = seq
	}
}

// lastOf returns the last value of a header. The server adds its own behind those that were
// stored with the message.
func lastOf(h nats.Header, name string) string {
	if all := h[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// CountFrom returns how many messages of a subject, which may have wildcards, there are from
// a sequence number on. The server counts.
func (s *Stream) CountFrom(ctx context.Context, subject string, from int64) (int64, error) {
	name := nuid.Next()
	mine, end := s.asking(ctx, AnswerTime, "CONSUMER.CREATE."+s.name+"."+name+"."+subject)
	consumer, err := s.js.CreateConsumer(mine, s.name, jetstream.ConsumerConfig{
		Name: name, FilterSubject: subject, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: uint64(max(from, 1)),
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: AnswerTime,
	})
	if err = end(err); err != nil {
		return 0, err
	}
	info := consumer.CachedInfo()
	return int64(info.NumPending), s.js.DeleteConsumer(ctx, s.name, info.Name)
}

// Delete deletes a message.
func (s *Stream) Delete(ctx context.Context, seq int64) error {
	request, _ := json.Marshal(struct {
		Seq     int64 `json:"seq"`
		NoErase bool  `json:"no_erase"`
	}{seq, true})
	return s.do(ctx, "STREAM.MSG.DELETE."+s.name, request)
}

// Purge deletes the messages of a subject, which may have wildcards, before a sequence
// number; 0 for all.
func (s *Stream) Purge(ctx context.Context, subject string, before int64) error {
	request, _ := json.Marshal(struct {
		Filter string `json:"filter"`
		Seq    int64  `json:"seq,omitempty"`
	}{subject, before})
	return s.do(ctx, "STREAM.PURGE."+s.name, request)
}

func (s *Stream) do(ctx context.Context, subject string, request []byte) error {
	var answer struct {
		Error *ServerError `json:"error"`
	}
	if err := s.ask(ctx, subject, request, &answer); err != nil {
		return err
	}
	if answer.Error != nil && !errors.Is(answer.Error, ErrNotFound) && answer.Error.ErrCode != noSequence {
		return answer.Error
	}
	return nil
}

// Ping asks the responder at a subject, outside of the stream, and returns what that says. It reports false when
// there is none, and an error when none has answered in time.
func (s *Stream) Ping(ctx context.Context, subject string, patience time.Duration) (said string, there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	msg, err := s.nc.RequestWithContext(ctx, subject, nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return string(msg.Data), true, nil
}

// Answer answers the pings at a subject with what say returns, until the stream is closed. It is called once.
func (s *Stream) Answer(subject string, say func() []byte) (err error) {
	s.answers, err = s.nc.Subscribe(subject, func(m *nats.Msg) { m.Respond(say()) })
	return err
}
