package jetstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

const shopTarget = "nats://test/shop"

// What an order or a payment does to its handler.
const (
	poisonous = 666_666_666            // an amount that ends the process
	tarpit    = "tarpit@example.org"   // the mail server takes the receipt, and does not answer
	sluggish  = "sluggish@example.org" // it takes its time, once
)

// shop is the program of the operator's guide, with its bus on a server.
type shop struct {
	*runtime.Bus
	t      *testing.T
	server *servertest.Server
	line   *servertest.Line // of the program

	down                   atomic.Bool // the payment provider
	receipts, paid, booked atomic.Int64
	dying                  chan struct{}
}

// inShop runs f beside a shop, in virtual time.
func inShop(t *testing.T, f func(*shop)) {
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "100")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 3, 15, 2, 40, 0, 0, time.UTC)))
		s := &shop{t: t, server: servertest.Start(t, t.TempDir()), dying: make(chan struct{}, 1)}
		s.open()
		defer func() { s.Shutdown(context.Background()) }()
		f(s)
	})
}

// open starts the program.
func (s *shop) open() {
	s.t.Helper()
	s.line = s.server.Line()
	connect := func(string) (*nats.Conn, error) { return s.line.Connect(nats.MaxReconnects(-1)) }
	bus, err := runtime.Open(s.t.Context(), shopTarget, runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType),
		jetstream.Engine(jetstream.InMemory(), jetstream.Hasty(), jetstream.Through(connect)), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(s.t, err)
	s.Bus = bus
	s.subscribe()
	must(s.t, bus.Start(s.t.Context()))
}

func (s *shop) subscribe() {
	_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "send-receipt", func(ctx context.Context, e runtime.Event[clitest.OrderPlaced]) error {
		switch {
		case e.Payload.Email == tarpit:
			time.Sleep(20 * time.Minute) // and ignores its deadline
		case e.Payload.Email == sluggish && e.Attempt == 1:
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.receipts.Add(1)
		return nil
	}, runtime.WithTimeout(2*time.Minute))
	must(s.t, err)
	_, err = runtime.Subscribe(s.Bus, clitest.PaymentType, "charge-card", func(ctx context.Context, e runtime.Event[clitest.PaymentRequested]) error {
		if e.Payload.Cents == poisonous {
			s.dying <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		if s.down.Load() {
			return fmt.Errorf("order %d: dial tcp 10.0.0.7:443: connection refused", e.Payload.Order)
		}
		s.paid.Add(1)
		return nil
	})
	must(s.t, err)
	_, err = runtime.Subscribe(s.Bus, clitest.OrderType, "ledger", func(context.Context, runtime.Event[clitest.OrderPlaced]) error {
		s.booked.Add(1)
		return nil
	})
	must(s.t, err)
}

// killed goes on with a program that is started again ten seconds after its process was killed.
func (s *shop) killed() {
	s.t.Helper()
	synctest.Wait()
	s.line.Cut()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	go s.Shutdown(ended)
	time.Sleep(10 * time.Second)
	s.open()
}

func (s *shop) place(number int, email string) {
	_, err := runtime.Publish(s.t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: number, Email: email})
	must(s.t, err)
}

func (s *shop) pay(order int, cents int64) {
	_, err := runtime.Publish(s.t.Context(), s.Bus, clitest.PaymentType, clitest.PaymentRequested{Order: order, Cents: cents})
	must(s.t, err)
}

func (s *shop) order(number int, email string) {
	s.place(number, email)
	time.Sleep(10 * time.Second)
	s.pay(number, 5000)
}

// busgen runs the command in a process of its own, as far as the server can tell.
func (s *shop) busgen(line, input string) clitest.Result {
	s.t.Helper()
	inspecting := jetstream.Inspect(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return s.server.Connect() }))
	var root clitest.Command = func() *cobra.Command {
		return command.New(cli.Engine{Schemes: []string{"nats", "tls"}, Inspect: inspecting})
	}
	return root.Typed(s.t, line, input)
}

// does runs a command that must work.
func (s *shop) does(line string) string {
	s.t.Helper()
	got := s.busgen(line, "")
	if got.Status != 0 || got.Stderr != "" {
		s.t.Fatalf("%s: status %d\n%s", line, got.Status, got.Stderr)
	}
	return got.Stdout
}

// nightShift has everything happen that the night of the guide is about.
func (s *shop) nightShift() {
	email := func(n int) string { return fmt.Sprintf("customer%d@example.org", n) }
	for n := 101; n <= 105; n++ {
		s.order(n, email(n))
		time.Sleep(20 * time.Second)
	}
	s.does(`busgen subscriptions pause ` + shopTarget + ` ledger --actor bob --because "moving the ledger, back at 23:00"`)
	time.Sleep(time.Second)
	s.place(106, sluggish) // the poison is not alone when it ends the process for the first time
	time.Sleep(time.Second)
	s.pay(106, poisonous)
	for lives := 1; ; lives++ {
		select {
		case <-s.dying:
			s.killed()
			continue
		case <-time.After(time.Minute):
		}
		if lives > 4 { // one more than max_attempts
			s.t.Errorf("the poison took %d lives", lives)
		}
		break
	}
	settings := clitest.ShopSettings()
	settings.Breaker.Off = false
	must(s.t, s.Tune(runtime.Tuning{Types: map[string]declare.Settings{"payment.requested": settings}}))
	s.order(107, email(107))
	s.order(108, tarpit)
	for n := 109; n <= 112; n++ {
		s.order(n, email(n))
		time.Sleep(20 * time.Second)
	}
	s.down.Store(true)
	time.Sleep(30 * time.Second)
	for n := 113; n <= 118; n++ {
		s.place(n, email(n))
		s.pay(n, 5000)
		time.Sleep(time.Second)
	}
	time.Sleep(8 * time.Second)
}

// dayBreaks checks that the night is over: everything was handled but for what was discarded.
func (s *shop) dayBreaks() {
	var status event.Status
	must(s.t, json.Unmarshal([]byte(s.does("busgen status "+shopTarget+" --json")), &status))
	for _, one := range status.Subscriptions {
		if one.Backlog > 0 || one.Dead > 0 || one.Paused {
			s.t.Errorf("the night is not over for %s: %+v", one.Name, one)
		}
	}
	if len(status.Breakers)+len(status.Pauses)+status.DeadLetters > 0 {
		s.t.Errorf("the night is not over: %+v", status)
	}
	if receipts, paid, booked := s.receipts.Load(), s.paid.Load(), s.booked.Load(); receipts != 17 || paid != 17 || booked != 18 {
		s.t.Errorf("%d receipts, %d payments and %d bookings, want 17, 17 and 18", receipts, paid, booked)
	}
	time.Sleep(time.Hour) // the handlers that were left behind come to an end
}

// TestTheNightOfTheGuideOnAServer runs the commands of the operator's guide, of its night with
// four problems, beside a program whose bus is on a server. They print what they print for a
// file, to the second.
func TestTheNightOfTheGuideOnAServer(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating.md")
	must(t, err)
	_, section, _ := strings.Cut(string(text), "\n<!-- a night with four problems -->\n")
	section, _, over := strings.Cut(section, "\n<!-- the night is over -->\n")
	if !over {
		t.Fatal("the guide has no night")
	}
	inShop(t, func(s *shop) {
		s.nightShift()
		ids := map[string]string{} // as the guide shows them, by the real ones
		for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$|^<!-- (.*?) -->$").FindAllStringSubmatch(section, -1) {
			if block[2] == "the provider is up again" {
				s.down.Store(false)
				continue
			}
			var printed strings.Builder
			for _, line := range regexp.MustCompile(`(?m)^\$ .*\n`).FindAllString(block[1], -1) {
				typed := strings.TrimSpace(line[2:])
				for real, shown := range ids {
					typed = strings.ReplaceAll(typed, shown, real)
				}
				if strings.Contains(typed, "--watch") { // its second look comes when the second attempt has just been left behind
					time.Sleep(100 * time.Millisecond)
				}
				got := s.busgen(strings.ReplaceAll(typed, "shop.db", shopTarget), "")
				if got.Status != 0 {
					t.Errorf("%s: status %d, %s", typed, got.Status, got.Stderr)
				}
				printed.WriteString(line + plain(got.Stdout+got.Stderr, ids))
				time.Sleep(time.Second)
			}
			guide := strings.ReplaceAll(plain(block[1], nil), "/srv/shop/shop.db", "shop.db") // where the file is
			if diff := cmp.Diff(guide, printed.String()); diff != "" {
				t.Errorf("(-guide +printed):\n%s", diff)
			}
		}
		s.dayBreaks()
	})
}

var (
	anID  = regexp.MustCompile(`\b01[0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}(-[0-9a-f]{4}-[0-9a-f]{12})?\b`)
	aPID  = regexp.MustCompile(`\bProcess \d+\b`)
	aSize = regexp.MustCompile(`(?m)^shop\.db: .*$`)
)

// plain replaces what differs between two runs, or between a file and a server.
func plain(text string, ids map[string]string) string {
	text = strings.ReplaceAll(text, shopTarget, "shop.db")
	if ids != nil {
		text = anID.ReplaceAllStringFunc(text, func(id string) string {
			short := id[:18]
			if ids[short] == "" {
				ids[short] = fmt.Sprintf("019cea3a-%04x-7000", len(ids)+7) // the guide has shown six before
			}
			if len(id) == 18 {
				return ids[short]
			}
			return ids[short] + "-8c3a-5a7f3b6e9c01"
		})
	}
	return aSize.ReplaceAllString(aPID.ReplaceAllString(text, "Process 4711"), "shop.db: its size")
}

// TestTheCommandsOfTheReadmeOnAServer runs those of its section about a bad night.
func TestTheCommandsOfTheReadmeOnAServer(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	must(t, err)
	_, section, found := strings.Cut(string(text), "\n## After a bad night\n")
	section, _, _ = strings.Cut(section, "\n## ")
	commands := regexp.MustCompile("(?m)busgen ([a-z]+[^`$\n]*(?:\n--watch)?)").FindAllString(section, -1)
	if !found || len(commands) < 4 {
		t.Fatalf("the README has the commands %q", commands)
	}
	inShop(t, func(s *shop) {
		s.down.Store(true)
		for n := range 3 {
			s.pay(n, 100)
		}
		time.Sleep(time.Minute)
		groups := strings.Fields(s.does("busgen dlq groups " + shopTarget + " --json"))
		group := regexp.MustCompile(`"fingerprint":"(\w+)"`).FindStringSubmatch(strings.Join(groups, ""))[1]
		s.down.Store(false)
		for _, line := range commands {
			line = strings.ReplaceAll(strings.ReplaceAll(line, "\n", " "), "shop.db", shopTarget)
			line = regexp.MustCompile(`--group \w+`).ReplaceAllString(line, "--group "+group)
			got := s.busgen(line, "")
			interrupted := strings.Contains(line, "tail") || strings.Contains(line, "--watch")
			if got.Stdout == "" || got.Status != 0 && !interrupted {
				t.Errorf("%s: %+v", line, got)
			}
		}
		if paid := s.paid.Load(); paid != 3 {
			t.Errorf("%d of 3 payments were made", paid)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
