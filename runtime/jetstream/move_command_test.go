//go:build unix

package jetstream_test

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/movecmd"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

func TestTheCommandMovesAFileAndTakesItBack(t *testing.T) {
	size := fileSize{events: 200, retries: 10, dead: 5, subscriptions: 5}
	path := fillFile(t, size)
	target := "nats://" + servertest.Listen(t) + "/shop"
	busgen := func(status int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		root := command.New(cli.Engine{Schemes: []string{"nats", "tls"}, Inspect: jetstream.Inspect(), Verbs: []*cobra.Command{movecmd.New()}})
		if got := cli.Run(t.Context(), root, args, strings.NewReader(""), &out, &out); got != status {
			t.Errorf("busgen %q ends with %d, want %d: %s", args, got, status, out.String())
		}
		return out.String()
	}
	for _, again := range []bool{false, true} {
		if out := busgen(0, "move", path, target); !strings.Contains(out, "200 events") || !strings.Contains(out, "5 dead letters") {
			t.Errorf("again %t: %s", again, out)
		}
	}
	if out := busgen(0, "dlq", "list", target, "--limit", "10"); strings.Count(out, "order.placed") != 5 {
		t.Errorf("the dead letters there: %s", out)
	}
	if out := busgen(2, "move", path, target+"-other"); !strings.Contains(out, target) {
		t.Errorf("moving it to another place: %s", out)
	}
	busgen(2, "move", path)
	if out := busgen(0, "move", "--take-back", path); !strings.Contains(out, "again") {
		t.Errorf("taking it back: %s", out)
	}
	bus := openFile(t, path, size, make([]atomic.Int64, size.subscriptions))
	conformance.Must(t, bus.Shutdown(t.Context()))
	if out := busgen(0, "move", "--take-back", path); !strings.Contains(out, "was not moved") {
		t.Errorf("taking it back again: %s", out)
	}
}
