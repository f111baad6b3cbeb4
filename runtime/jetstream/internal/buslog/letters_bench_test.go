package buslog

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// BenchmarkTheFirstPageOf10000DeadLetters is what an operator waits for whose command opens a
// bus with so many and shows the newest 100, or their groups, or the status.
func BenchmarkTheFirstPageOf10000DeadLetters(b *testing.B) {
	ctx, server := context.Background(), servertest.Start(b, b.TempDir())
	open := func() *Inspection {
		nc, err := server.Connect()
		must(b, err)
		s, err := stream.Open(ctx, nc, "bus", stream.Settings{InMemory: true})
		must(b, err)
		in, err := Inspect(ctx, s, "nats://test/bus", "ada")
		must(b, err)
		return in
	}
	in := open()
	must(b, in.Declare(ctx, nil, []engine.ConsumerSpec{{Name: "worker", Pattern: "job.*"}}))
	adding, err := in.ImportDeadLetters()
	must(b, err)
	var letters []event.DeadLetter
	for n := range 10_000 {
		at := time.Now().Add(time.Duration(n) * time.Microsecond)
		letters = append(letters, event.DeadLetter{
			Key: event.Key{EventID: uuid.New(), Subscription: "worker"}, Type: "job.queued", Version: 1,
			Payload:     fmt.Appendf(nil, `{"number":%d,"text":"%200d"}`, n, n),
			PublishedAt: at, DeadAt: at, Reason: "max_attempts", Fingerprint: fmt.Sprint("f", n%3), Failures: 3,
			Attempts: []event.FailedAttempt{{Kind: "error", Error: "out of order"}, {Kind: "error", Error: "out of order"}, {Kind: "error", Error: "out of order"}},
		})
	}
	added, _, err := adding.Add(ctx, letters)
	if must(b, err); added != len(letters) {
		b.Fatalf("%d are added", added)
	}
	must(b, in.Close())
	for name, look := range map[string]func(in *Inspection) error{
		"page": func(in *Inspection) error {
			page, _, err := in.DeadLetters(ctx, engine.Filter{}, event.Page{Limit: 100}, false)
			if len(page) != 100 {
				b.Errorf("the page has %d", len(page))
			}
			return err
		},
		"groups": func(in *Inspection) error { _, err := in.FailureGroups(ctx, engine.Filter{}); return err },
		"status": func(in *Inspection) error {
			_, err := in.Status(ctx, event.MaxBacklog, event.Status{})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				in := open()
				must(b, look(in))
				must(b, in.Close())
			}
		})
	}
}
