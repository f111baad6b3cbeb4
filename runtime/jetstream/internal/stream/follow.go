package stream

import (
	"cmp"
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// defaultHeartbeat is how often the server says that a reader is alive. When it has not said
// so for two times as long, the reader is made anew: its server may be gone.
const defaultHeartbeat = time.Second

// Follow calls each with every message from a sequence number on, in order, from one
// goroutine, until stop is called. Messages that come twice, after a lost connection, are
// passed over by who counts sequence numbers.
func (s *Stream) Follow(ctx context.Context, from int64, each func(Stored)) (stop func(), err error) {
	consumer, err := s.js.OrderedConsumer(ctx, s.name, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{s.name + ".>"},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: uint64(max(from, 1)),
	})
	if err != nil {
		return nil, err
	}
	heartbeat := cmp.Or(s.heartbeat, defaultHeartbeat)
	running, err := consumer.Consume(func(msg jetstream.Msg) {
		at, err := msg.Metadata()
		if err != nil {
			return
		}
		each(Stored{Subject: msg.Subject(), Seq: int64(at.Sequence.Stream), Header: msg.Headers(), Data: msg.Data()})
	}, jetstream.PullHeartbeat(heartbeat), jetstream.PullExpiry(max(2*heartbeat, 30*time.Second)))
	if err != nil {
		return nil, err
	}
	return running.Stop, nil
}

// LastOfEach calls each with the last message of every subject that one of the filters
// matches, in the order of the stream.
func (s *Stream) LastOfEach(ctx context.Context, filters []string, each func(Stored)) error {
	consumer, err := s.js.OrderedConsumer(ctx, s.name, jetstream.OrderedConsumerConfig{
		FilterSubjects: filters, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
	})
	if err != nil {
		return err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return err
	}
	left := int(info.NumPending)
	for left > 0 {
		batch, err := consumer.Fetch(min(left, 500))
		if err != nil {
			return err
		}
		for msg := range batch.Messages() {
			at, err := msg.Metadata()
			if err != nil {
				return err
			}
			left--
			each(Stored{Subject: msg.Subject(), Seq: int64(at.Sequence.Stream), Header: msg.Headers(), Data: msg.Data()})
		}
		if err := batch.Error(); err != nil {
			return err
		}
		if left > 0 { // of those counted some are replaced or deleted by now
			if info, err = consumer.Info(ctx); err != nil {
				return err
			}
			left = int(info.NumPending)
		}
	}
	return nil
}
