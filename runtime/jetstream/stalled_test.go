package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/observe"
)

// bystander starts a process that handles something else.
func (x *sharing) bystander() *sharer {
	p := x.open()
	_, err := runtime.Subscribe(p.bus, conformance.PaidType, "payments", func(context.Context, runtime.Event[conformance.OrderPaid]) error { return nil })
	conformance.Must(x.t, err)
	conformance.Must(x.t, p.bus.Start(context.Background()))
	return p
}

// inspecting looks from a process of its own.
func (x *sharing) inspecting() inspect.Option {
	return jetstream.Inspect(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return x.server.Connect() }))
}

// stalled returns what stands still of the orders.
func (x *sharing) stalled() []event.Stalled {
	x.t.Helper()
	file, err := inspect.Open(context.Background(), "nats://test/bus", x.inspecting())
	conformance.Must(x.t, err)
	defer file.Close()
	status, err := file.Status(context.Background())
	conformance.Must(x.t, err)
	for _, s := range status.Subscriptions {
		if s.Name == "orders" {
			return s.Stalled
		}
	}
	return nil
}

// busgen runs the command.
func (x *sharing) busgen(line string) clitest.Result {
	x.t.Helper()
	var root clitest.Command = func() *cobra.Command {
		return command.New(cli.Engine{Schemes: []string{"nats", "tls"}, Inspect: x.inspecting()})
	}
	return root.Typed(x.t, line, "")
}

// The process that handles a subscription ends, and nobody is there who takes it over.
func TestTheStatusSaysWhichPartsStandStillSinceWhenAndWhoHasThem(t *testing.T) {
	for concurrency, parts := range map[int]int{1: 0, 4: 8} {
		t.Run(fmt.Sprint("concurrency ", concurrency), func(t *testing.T) {
			deafBubble(t, func(t *testing.T) {
				x := newSharing(t)
				publish, end := x.publisher()
				other := x.bystander()
				first, second := x.start(concurrency), x.start(concurrency)
				time.Sleep(20 * time.Second)
				for n := range 64 {
					publish(fmt.Sprint("key ", n))
				}
				x.wait(10 * time.Second)
				time.Sleep(time.Hour)
				first.kill()
				second.kill()
				time.Sleep(time.Minute)
				if found := x.stalled(); len(found) > 0 {
					t.Errorf("without events stand still: %v", found)
				}
				published := time.Now()
				for n := range 64 {
					publish(fmt.Sprint("key ", n))
				}
				time.Sleep(10 * time.Second)
				if found := x.stalled(); len(found) > 0 {
					t.Errorf("after ten seconds stand still: %v", found)
				}
				time.Sleep(10 * time.Minute)
				found := x.stalled()
				host, _ := os.Hostname()
				if want := map[int]int{1: 1, 4: 2}[concurrency]; len(found) != want {
					t.Errorf("after ten minutes stand still: %v", found)
				}
				for _, one := range found {
					if since := one.Since.Sub(published); since < 0 || since > time.Second || one.PID != os.Getpid() || one.Host != host || one.Idle || len(one.Parts) != parts {
						t.Errorf("after ten minutes stands still, since %v after the events: %+v", since, one)
					}
				}
				out := x.busgen("busgen status nats://test/bus")
				t.Log(out.Stdout)
				if line := "Stands still: orders, since "; !strings.Contains(out.Stdout, line) || !strings.Contains(out.Stdout, "and does not answer") {
					t.Errorf("the status lacks %q:\n%s", line, out.Stdout)
				}
				if got := x.busgen("busgen status nats://test/bus --fail-if orders:stalled>0"); got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "orders:stalled is 1") {
					t.Errorf("--fail-if: %+v", got)
				}
				var status event.Status
				conformance.Must(t, json.Unmarshal([]byte(x.busgen("busgen status nats://test/bus --json").Stdout), &status))
				third := x.start(concurrency)
				x.wait(15 * time.Second)
				if found := x.stalled(); len(found) > 0 {
					t.Errorf("when all is handled stand still: %v", found)
				}
				third.shutdown()
				publish("key 0")
				time.Sleep(time.Minute)
				if found := x.stalled(); len(found) > 0 { // there is no handler, which is said
					t.Errorf("after the end of a process that has let go stand still: %v", found)
				}
				other.shutdown()
				end()
				x.report()
			})
		})
	}
}

// A process answers, and nothing that it stores is acknowledged. It is the only one, so nobody asks it: its own health says
// so.
func TestTheHealthSaysThatASubscriptionOfTheOnlyProcessStandsStill(t *testing.T) {
	deafBubble(t, func(t *testing.T) {
		x := newSharing(t)
		publish, end := x.publisher()
		var store harmful
		x.opts = []jetstream.Option{jetstream.InMemory(), jetstream.Losing(store.Load)}
		p := x.start(4)
		publish("key")
		time.Sleep(time.Minute)
		wantStalled := func(want bool) {
			t.Helper()
			health := p.bus.Health()
			for _, c := range health.Checks {
				if c.Name == observe.CheckStalled && (c.Exceeded != want || want && (c.Mostly != "orders" || c.Value != 1)) {
					t.Errorf("the check is %+v, want exceeded: %v", c, want)
				}
			}
		}
		wantStalled(false)
		store.Store(true)
		x.cutOff(p)
		for n := range 64 {
			publish(fmt.Sprint("key ", n))
		}
		time.Sleep(time.Minute)
		wantStalled(true)
		found := x.stalled()
		if len(found) != 1 || !found[0].Idle || time.Since(found[0].Since) < 55*time.Second {
			t.Errorf("stand still: %+v", found)
		}
		store.Store(false)
		time.Sleep(time.Minute)
		wantStalled(false)
		if found := x.stalled(); len(found) > 0 {
			t.Errorf("when the process stores again stand still: %v", found)
		}
		p.shutdown()
		end()
		x.report()
	})
}

// What waits for a reason does not stand still: a slow handler, a retry, a pause, and a breaker.
func TestWhatWaitsForAReasonDoesNotStandStill(t *testing.T) {
	deafBubble(t, func(t *testing.T) {
		x := newSharing(t)
		publish, end := x.publisher()
		file, err := inspect.Open(context.Background(), "nats://test/bus", x.inspecting())
		conformance.Must(t, err)
		defer file.Close()
		other := x.bystander()
		handle := func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			switch e.Payload.OrderID {
			case "slow":
				time.Sleep(5 * time.Minute)
			case "fails":
				return errors.New("not yet")
			}
			return nil
		}
		for waits, do := range map[string]func(){
			"slow": func() {}, "fails": func() {},
			"paused": func() { conformance.Must(t, file.PauseSubscription(context.Background(), "orders", "")) },
		} {
			p := x.open()
			_, err := runtime.Subscribe(p.bus, conformance.PlacedType, "orders", handle, runtime.FromBeginning(), runtime.WithConcurrency(1), runtime.WithTimeout(time.Hour))
			conformance.Must(t, err)
			conformance.Must(t, p.bus.Start(context.Background()))
			do()
			for range 3 {
				publish(waits)
				publish("quick")
			}
			time.Sleep(2 * time.Minute)
			if found := x.stalled(); len(found) > 0 {
				t.Errorf("%s: stand still: %v", waits, found)
			}
			for _, c := range p.bus.Health().Checks {
				if c.Name == observe.CheckStalled && c.Exceeded {
					t.Errorf("%s: the health has %+v", waits, c)
				}
			}
			if waits == "paused" { // also if the process dies
				p.kill()
				time.Sleep(time.Minute)
				if found := x.stalled(); len(found) > 0 {
					t.Errorf("a paused subscription stands still: %v", found)
				}
				conformance.Must(t, file.ResumeSubscription(context.Background(), "orders"))
				continue
			}
			time.Sleep(time.Hour)
			p.shutdown()
		}
		x.ending.Wait()
		other.shutdown()
		end()
	})
}
