package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A connection that fails in the middle of a page, and is made again while the replica sends,
// loses what was sent meanwhile.
func TestAPageThatHasLostAMessageIsReadAgain(t *testing.T) {
	for _, lost := range []int{1, 3, 5} {
		t.Run(fmt.Sprint("message ", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow(t)
				nc, err := f.server.Connect()
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				var asked atomic.Int64
				nc.Subscribe("FAKE.DIRECT.GET.bus", func(m *nats.Msg) {
					n := asked.Add(1)
					for seq := 1; seq <= 5; seq++ {
						if n == 1 && seq == lost {
							continue
						}
						m.RespondMsg(&nats.Msg{Data: []byte("x"), Header: nats.Header{
							"Nats-Subject": {"bus.x"}, "Nats-Sequence": {strconv.Itoa(2 * seq)}, "Nats-Last-Sequence": {strconv.Itoa(2*seq - 2)},
						}})
					}
					m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"204"}, "Nats-Last-Sequence": {"10"}}})
				})
				synctest.Wait()
				f.reader.SetAPI("FAKE.")
				page, err := f.reader.Page(t.Context(), 1, "bus.>", 5, 1<<20)
				if err != nil || len(page) != 5 || asked.Load() != 2 {
					t.Errorf("a page has %d messages after %d requests (%v), want 5 after 2", len(page), asked.Load(), err)
				}
			})
		})
	}
}

// Anybody can store messages with headers that servers use for what they say themselves.
func TestAMessageWithTheHeadersOfAServerIsAMessage(t *testing.T) {
	headers := [][]stream.Header{
		{{Name: "Status", Value: "100"}}, {{Name: "Status", Value: "204"}}, {{Name: "Status", Value: "404"}}, {{Name: "Status", Value: "408"}},
		{{Name: "Status", Value: "100"}, {Name: "Nats-Last-Consumer", Value: "7"}},
		{{Name: "Nats-Sequence", Value: "1"}, {Name: "Nats-Last-Sequence", Value: "9"}, {Name: "Nats-Subject", Value: "bus.y"}},
	}
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		followed := make(chan int64, 100)
		for _, h := range headers {
			if _, _, err := f.writer.Append(t.Context(), &stream.Msg{Subject: "bus.x", Header: h}); err != nil {
				t.Fatal(err)
			}
		}
		stop, err := f.reader.Follow(t.Context(), 1, nil, func(all []stream.Stored) {
			for _, m := range all {
				followed <- m.Seq
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		synctest.Wait()
		if len(followed) != len(headers) {
			t.Errorf("who follows the stream gets %d messages, want %d", len(followed), len(headers))
		}
		page, err := f.reader.Page(t.Context(), 1, "bus.>", 100, 1<<20)
		if err != nil || len(page) != len(headers) {
			t.Errorf("a page has %d messages (%v), want %d", len(page), err, len(headers))
		}
		for i, m := range page {
			if m.Seq != int64(i+1) || m.Subject != "bus.x" {
				t.Errorf("message %d is %d of %s", i+1, m.Seq, m.Subject)
			}
		}
	})
}

// Who has no answer in our own time may ask again; the time of the caller is another thing.
func TestAServerThatDoesNotAnswerIsSilent(t *testing.T) {
	requests := map[string]func(context.Context, *stream.Stream) error{
		"follow": func(ctx context.Context, s *stream.Stream) error {
			_, err := s.Follow(ctx, 1, nil, func([]stream.Stored) {})
			return err
		},
		"page": func(ctx context.Context, s *stream.Stream) error {
			_, err := s.Page(ctx, 1, "bus.>", 5, 1<<20)
			return err
		},
		"last of": func(ctx context.Context, s *stream.Stream) error { _, err := s.LastOf(ctx, "bus.x"); return err },
		"state":   func(ctx context.Context, s *stream.Stream) error { _, err := s.State(ctx); return err },
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow(t)
				nc, err := f.server.Connect()
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				nc.Subscribe("FAKE.>", func(*nats.Msg) {})
				synctest.Wait()
				f.reader.SetAPI("FAKE.")
				if err := request(t.Context(), f.reader); !errors.Is(err, stream.ErrSilent) || !stream.Passes(err) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error is %v, want one that says that the servers do not answer", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := request(ctx, f.reader); !errors.Is(err, context.DeadlineExceeded) || stream.Passes(err) {
					t.Errorf("the error is %v, want that of the context", err)
				}
			})
		})
	}
}
