package stream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A leader that was cut off from the others does not have what they have stored since then.
func TestWhatADeposedLeaderDoesNotFindMayBeThere(t *testing.T) {
	const last = 3 // of the messages that it has
	gets := map[string]func(s *stream.Stream, seq, known int64) (stream.Stored, error){
		"GetKnown": func(s *stream.Stream, seq, known int64) (stream.Stored, error) {
			return s.GetKnown(context.Background(), seq, known)
		},
		"NextKnown": func(s *stream.Stream, seq, known int64) (stream.Stored, error) {
			return s.NextKnown(context.Background(), "bus.>", seq, known)
		},
	}
	for name, get := range gets {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := follow(t)
				nc, err := f.server.Connect()
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				nc.Subscribe("FAKE.STREAM.MSG.GET.bus", func(m *nats.Msg) {
					m.Respond([]byte(`{"error": {"code": 404, "err_code": 10037, "description": "no message found"}}`))
				})
				nc.Subscribe("FAKE.STREAM.INFO.bus", func(m *nats.Msg) {
					m.Respond(fmt.Appendf(nil, `{"state": {"last_seq": %d}}`, last))
				})
				synctest.Wait()
				f.reader.SetAPI("FAKE.")
				if _, err := get(f.reader, last+1, last+2); !errors.Is(err, stream.ErrBehind) || !stream.Passes(err) {
					t.Errorf("a message that others have, and this server does not: %v, want ErrBehind", err)
				}
				if _, err := get(f.reader, last-1, last); !errors.Is(err, stream.ErrNotFound) {
					t.Errorf("a message that is deleted: %v, want ErrNotFound", err)
				}
			})
		})
	}
}
