package buslog

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A program that opens a bus stores the schemas of its types, for which a leader may be missing.
func TestSchemasAreStoredWhenThereIsALeaderAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, line := context.Background(), servertest.Start(t, t.TempDir()).Line()
		nc, err := line.Connect(nats.PingInterval(time.Hour))
		must(t, err)
		defer nc.Close()
		s, err := stream.Open(ctx, nc, "bus", stream.Settings{InMemory: true})
		must(t, err)
		in, err := Inspect(ctx, s, "nats://test/bus", "ada")
		must(t, err)
		defer in.Close()
		must(t, in.Declare(ctx, []engine.TypeSpec{{Name: "job.done"}}, nil))
		subject := in.schemaSubject("job.done", 1)
		line.Divert(subject, strings.Repeat("x", len(subject))) // nobody is there for it
		time.AfterFunc(5*time.Second, line.Undivert)
		must(t, in.Declare(ctx, []engine.TypeSpec{{Name: "job.done", Schema: "{}"}}, nil))
		if got, err := in.Schema(ctx, "job.done"); err != nil || got.Text != "{}" {
			t.Errorf("the schema is %q, %v", got.Text, err)
		}
	})
}
