package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// bare is a stream with the settings of a bus, and a program that uses nats.go.
type bare struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	name    string
	payload []byte
}

func (s *setting) openBare(ctx context.Context) (*bare, error) {
	nc, err := nats.Connect(s.address())
	if err != nil {
		return nil, err
	}
	s.closing = append(s.closing, nc.Close)
	b := &bare{nc: nc, name: s.newName()}
	if b.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(128)); err != nil {
		return nil, err
	}
	if b.payload, err = json.Marshal(sample); err != nil {
		return nil, err
	}
	_, err = b.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: b.name, Subjects: []string{b.name + ".>"}, Replicas: s.replicas, Duplicates: 2 * time.Minute, Discard: jetstream.DiscardNew,
		AllowAtomicPublish: true, AllowRollup: true, AllowMsgTTL: true, AllowDirect: true,
	})
	return b, err
}

// message returns a message as the bus makes them, with an id.
func (b *bare) message() *nats.Msg {
	id, _ := uuid.NewV7()
	text := id.String()
	return &nats.Msg{Subject: b.name + ".e.00.order.placed", Data: b.payload, Header: nats.Header{
		"Nats-Msg-Id": {text}, "Busgen-Type": {"order.placed"}, "Busgen-Version": {"1"},
		"Busgen-Created": {time.Now().UTC().Format(time.RFC3339Nano)}, "Content-Type": {"application/json"},
	}}
}

// publishAsync publishes for that long, and waits for the acknowledgements.
func (b *bare) publishAsync(ctx context.Context, d time.Duration) (n int, err error) {
	for until := time.Now().Add(d); time.Now().Before(until); n++ {
		if _, err := b.js.PublishMsgAsync(b.message(), jetstream.WithStallWait(10*time.Second)); err != nil {
			return n, err
		}
	}
	select {
	case <-b.js.PublishAsyncComplete():
		return n, nil
	case <-ctx.Done():
		return n, ctx.Err()
	}
}

// publishBatch publishes an atomic batch.
func (b *bare) publishBatch(n int) error {
	id := nuid.Next()
	for i := range n {
		m := b.message()
		m.Header["Nats-Batch-Id"], m.Header["Nats-Batch-Sequence"] = []string{id}, []string{strconv.Itoa(i + 1)}
		if i < n-1 {
			if err := b.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header["Nats-Batch-Commit"] = []string{"1"}
		answer, err := b.nc.RequestMsg(m, 10*time.Second)
		if err != nil {
			return err
		}
		var ack struct{ Error *jetstream.APIError }
		if err := json.Unmarshal(answer.Data, &ack); err != nil || ack.Error != nil {
			return fmt.Errorf("a batch was refused: %v %v", ack.Error, err)
		}
	}
	return nil
}

// follow calls each for every message that comes, until stop is called.
func (b *bare) follow(ctx context.Context, each func()) (stop func(), err error) {
	consumer, err := b.js.OrderedConsumer(ctx, b.name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	consuming, err := consumer.Consume(func(jetstream.Msg) { each() })
	if err != nil {
		return nil, err
	}
	return consuming.Stop, nil
}
