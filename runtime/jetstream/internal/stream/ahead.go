package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// aheadTime is how long the servers keep the consumer of a reader that is gone.
const aheadTime = 30 * time.Second

// ReadAhead reads the messages from a sequence number on, in order and once. So many of them, or bytes, are on their
// way at most. Next waits for a message. It fails after stop, and when the
// servers cannot be asked any more; both may be called by several goroutines.
func (s *Stream) ReadAhead(ctx context.Context, from int64, messages, bytes int) (next func() (Stored, error), stop func(), err error) {
	consumer, err := s.js.OrderedConsumer(ctx, s.name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: uint64(max(from, 1)), InactiveThreshold: aheadTime,
	})
	if err != nil {
		return nil, nil, err
	}
	all, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(messages, bytes))
	if err != nil {
		return nil, nil, err
	}
	return func() (Stored, error) {
		m, err := all.Next()
		if err != nil {
			return Stored{}, err
		}
		seq, _, ok := position(m.Reply())
		if !ok {
			return Stored{}, fmt.Errorf("the servers do not say which message of stream %s they have sent", s.name)
		}
		return Stored{Subject: m.Subject(), Seq: seq, Header: m.Headers(), Data: m.Data()}, nil
	}, all.Stop, nil
}
