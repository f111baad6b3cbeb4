package jetstream_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A program in Python that knows nothing but the contract of the page sends an event, and reads it from its mirror.
func TestATeamInPythonSendsAndReadsEvents(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: there is no python3, in which the other team writes")
	}
	address := servertest.ListenFor(t, teamUsers(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bus, err := runtime.Open(ctx, "nats://"+address+"/shop", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
		jetstream.Engine(jetstream.Silent(), jetstream.Options(nats.UserInfo("shop", "secret"))))
	conformance.Must(t, err)
	defer bus.Shutdown(ctx)
	_, err = runtime.SubscribeInbox(bus, "inbox")
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(ctx))
	nc, err := nats.Connect(address, nats.UserInfo("admin", "secret"))
	conformance.Must(t, err)
	defer nc.Close()
	admin, err := js.New(nc)
	conformance.Must(t, err)
	x := &team{t: t, admin: admin}
	x.mirror()
	_, err = runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: "ours"})
	conformance.Must(t, err)

	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(ctx, python, append([]string{"testdata/team.py", address, "partners", "secret"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for range 2 { // the answer to the first one may be lost
		said := run("send", "shop-inbox.order.placed", "py-1", `{"order_id": "é", "number": 3, "weight": 0.5}`, "Busgen-Metadata", `{"tenant": "ö"}`)
		if !strings.Contains(said, `"stream":"shop-inbox"`) {
			t.Errorf("the servers answer %s", said)
		}
	}
	type event struct {
		Subject, ID, Type, Content, Created string
		Version                             int
		Key                                 *string
		Metadata                            map[string]string
		Payload                             map[string]any
	}
	var all []event
	for line := range strings.Lines(run("read", "shop-copy", "partners", "2")) {
		var one event
		conformance.Must(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	for i, one := range all {
		if one.ID == "" || one.Version != 1 || one.Content != "application/json" || !strings.HasSuffix(one.Created, "Z") || !strings.HasSuffix(one.Subject, "."+one.Type) {
			t.Errorf("event %d is %+v", i, one)
		}
	}
	if len(all) != 2 || all[0].Type != "order.paid" || all[0].Payload["order_id"] != "ours" || all[1].Type != "order.placed" || all[1].Key == nil || *all[1].Key != "é" ||
		all[1].Metadata["tenant"] != "ö" || all[1].Payload["number"] != 3.0 {
		t.Errorf("the team has read %+v", all)
	}
}
