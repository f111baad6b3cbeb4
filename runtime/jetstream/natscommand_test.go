//go:build unix

package jetstream_test

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// natsCommand returns what runs the nats command, with contexts of its own.
func natsCommand(t *testing.T) func(line string) string {
	short.Skip(t, "the nats command is compiled")
	path := servertest.Command(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	return func(line string) string {
		t.Helper()
		out, err := exec.Command(path, strings.Fields(line)...).CombinedOutput()
		if err != nil {
			t.Errorf("nats %s: %v\n%s", line, err, out)
		}
		return string(out)
	}
}

func TestBusgenTakesTheContextThatTheNATSCommandSaves(t *testing.T) {
	run := natsCommand(t)
	a := newAuthority(t, unlimited)
	host := oneServer(t, servertest.Binaries(t)[0], a.settings)
	run("context save shop --server nats://" + host + " --creds " + a.creds)
	run("context select shop")
	bus, err := runtime.Open(t.Context(), "nats:///shop", conformance.Catalogue, jetstream.Engine(jetstream.Environment()))
	conformance.Must(t, err)
	conformance.Must(t, bus.Shutdown(context.Background()))
	root := command.New(cli.Engine{Schemes: []string{"nats", "tls"}, Inspect: jetstream.Inspect(jetstream.Environment())})
	var out bytes.Buffer
	if status := cli.Run(t.Context(), root, []string{"status", "nats:///shop"}, strings.NewReader(""), &out, &out); status != 0 {
		t.Errorf("busgen ends with %d: %s", status, out.String())
	}
}

// What the page, hints and errors tell an operator to type.
func TestTheNATSCommandDoesWhatIsSaidOfIt(t *testing.T) {
	run := natsCommand(t)
	host := oneServer(t, servertest.Binaries(t)[0], "")
	t.Setenv("NATS_URL", host)
	bus, err := runtime.Open(t.Context(), "nats://"+host+"/shop", conformance.Catalogue, jetstream.Engine())
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	for _, line := range []string{
		"stream edit shop --replicas 1", "stream edit shop --discard new", "stream edit shop --dupe-window 2m", "stream edit shop --max-bytes 1GB",
	} {
		run(line + " --force")
	}
	nc, err := nats.Connect(host)
	conformance.Must(t, err)
	defer nc.Close()
	foreign, err := nc.Request("shop.e.made.foreign", []byte("hello"), 5*time.Second)
	conformance.Must(t, err)
	_, seq, _ := strings.Cut(string(foreign.Data), `"seq":`)
	run("stream rmm shop " + strings.Trim(seq, "}") + " --force")
	listened := make(chan string, 1)
	go func() { listened <- run("sub --count 1 shop.e.*.order.>") }()
	eventually(t, "nats sub does not see an event", func() bool {
		_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A-1"})
		conformance.Must(t, err)
		select {
		case said := <-listened:
			if !strings.Contains(said, `"order_id":"A-1"`) || !strings.Contains(said, "Busgen-Type: order.placed") {
				t.Errorf("nats sub shows\n%s", said)
			}
			return true
		default:
			return false
		}
	})
}
