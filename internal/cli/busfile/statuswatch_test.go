package busfile

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// watched is a "busgen status --watch" that is under way.
type watched struct {
	t         *testing.T
	out, errs clitest.Output
	interrupt context.CancelFunc
	status    chan int
}

func watchStatus(t *testing.T, command string) *watched {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	w := &watched{t: t, interrupt: interrupt, status: make(chan int, 1)}
	t.Cleanup(interrupt)
	go func() { w.status <- run(ctx, clitest.Split(t, command)[1:], strings.NewReader(""), &w.out, &w.errs) }()
	synctest.Wait()
	return w
}

// ends waits for the end, and returns what was said last.
func (w *watched) ends(status int) (stdout, stderr string) {
	w.t.Helper()
	if got := <-w.status; got != status {
		w.t.Errorf("it ends with %d, want %d", got, status)
	}
	return w.out.Take(), w.errs.Take()
}

// looks reads lines of JSON.
func looks(t *testing.T, text string) (all []event.Status) {
	t.Helper()
	for line := range strings.Lines(text) {
		var one event.Status
		must(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

// place places orders, so many a second for so many seconds.
func (s *shop) place(rate, seconds int) {
	s.t.Helper()
	for range rate * seconds {
		_, err := runtime.Publish(s.t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 1, Email: "x@example.org"})
		must(s.t, err)
		time.Sleep(time.Second / time.Duration(rate))
	}
}

func TestAWatchedStatusHasRatesAndTheTimeToDrain(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.order(1, "customer1@example.org", 100)
		does(t, "busgen subscriptions pause shop.db ledger")
		time.Sleep(time.Second)
		w := watchStatus(t, "busgen status shop.db --watch --interval 10s --json")
		if all := looks(t, w.out.Take()); len(all) != 1 || all[0].Rates != nil || all[0].Subscriptions[0].Rates != nil {
			t.Errorf("the first look has rates, or is none: %+v", all)
		}

		s.place(4, 9)
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 5, Email: "customer5"}) // is dead at once
		must(t, err)
		time.Sleep(2 * time.Second)
		all := looks(t, w.out.Take())
		if len(all) != 1 {
			t.Fatalf("%d looks in ten seconds", len(all))
		}
		if r := all[0].Rates; r == nil || r.Seconds != 10 || r.Published != 3.7 {
			t.Errorf("rates %+v, want 3.7 published per second", r)
		}
		for i, want := range []event.SubscriptionRates{
			{Published: 3.7, Handled: 3.6, Dead: 0.1, DrainedIn: new(float64)}, {DrainedIn: new(float64)}, {Published: 3.7},
		} {
			got := all[0].Subscriptions[i].Rates
			if got == nil || got.Published != want.Published || got.Handled != want.Handled || got.Dead != want.Dead || (got.DrainedIn == nil) != (want.DrainedIn == nil) {
				t.Errorf("%s: %+v, want %+v", all[0].Subscriptions[i].Name, got, want)
			}
		}

		w.interrupt()
		if stdout, stderr := w.ends(0); stdout != "" || stderr != "" {
			t.Errorf("when it was interrupted it said %q and %q", stdout, stderr)
		}
	})
}

func TestAWatchedBacklogIsDrainedAtItsRate(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		must(t, s.Shutdown(t.Context())) // nobody dispatches
		bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		defer bus.Shutdown(context.Background())
		_, err = runtime.Subscribe(bus, clitest.OrderType, "ledger", func(context.Context, runtime.Event[clitest.OrderPlaced]) error {
			time.Sleep(time.Second / 2)
			return nil
		})
		must(t, err)
		s.Bus = bus
		s.place(10, 10)
		must(t, bus.Start(t.Context()))
		time.Sleep(10*time.Second + time.Millisecond)
		got := does(t, "busgen status shop.db --watch --interval 10s --count 2")
		for _, want := range []string{
			"2026-03-14 02:40:20 UTC, every 10s\nshop.db: ",
			"\n\n2026-03-14 02:40:30 UTC, every 10s\nshop.db: ",
			"\n0 events are published per second.\n",
			"SUBSCRIPTION  PATTERN            BACKLOG  OLDEST    NEW/s  HANDLED/s  DRAINED\n",
			"send-receipt  order.placed           100  30 s ago      0          0  not shrinking  no handler\n",
			"ledger        order.placed            60  26 s ago      0          2  in 30 s\n",
			"charge-card   payment.requested        0                0          0\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("it lacks %q:\n%s", want, got)
			}
		}
		if strings.Count(got, "every 10s") != 2 {
			t.Errorf("it did not look twice:\n%s", got)
		}
		go s.place(5, 20)
		time.Sleep(time.Second / 10)
		if got := does(t, "busgen status shop.db --watch --count 3"); !strings.Contains(got, "      5          2  grows\n") || !strings.Contains(got, "\n5 events are published per second.\n") {
			t.Errorf("a backlog that grows:\n%s", got)
		}
		time.Sleep(20 * time.Second)
	})
}

func TestAWatchEndsWhenAConditionHolds(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		w := watchStatus(t, "busgen status shop.db --watch --json --fail-if dead>0")
		time.Sleep(3500 * time.Millisecond)
		s.order(5, "customer5", 100)
		stdout, stderr := w.ends(cli.StatusNo)
		if all := looks(t, stdout); len(all) != 5 || all[3].DeadLetters != 0 || all[4].DeadLetters != 1 || !strings.Contains(stderr, "dead is 1 (--fail-if 'dead>0')") {
			t.Errorf("it ended with %d looks, and %q", len(all), stderr)
		}
	})
}

func TestAWatchEndsWithTheFile(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		w := watchStatus(t, "busgen status shop.db -w")
		time.Sleep(2500 * time.Millisecond) // no look is under way
		must(t, s.Shutdown(t.Context()))
		time.Sleep(2 * time.Second)
		if stdout := w.out.Take(); !strings.Contains(stdout, "\nNo process dispatches from it.") {
			t.Errorf("of a program that has ended it says\n%s", stdout)
		}
		must(t, os.Rename("shop.db", "elsewhere.db"))
		if _, stderr := w.ends(cli.StatusTrouble); !strings.HasPrefix(stderr, "busgen: there is no file shop.db") {
			t.Errorf("of a file that is gone it says %q", stderr)
		}

		w = watchStatus(t, "busgen status elsewhere.db -w")
		c, err := sqlite3.Open("elsewhere.db")
		must(t, err)
		defer c.Close()
		must(t, c.Exec("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE"))
		if _, stderr := w.ends(cli.StatusTrouble); !strings.Contains(stderr, "elsewhere.db") || !strings.Contains(stderr, "lock") {
			t.Errorf("of a file that is locked it says %q", stderr)
		}
	})
}

// What was counted in one file says nothing about another one.
func TestARestoredFileHasNoRatesAtItsFirstLook(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.place(1, 5)
		time.Sleep(time.Second / 2) // no look is under way when the program ends
		must(t, s.Shutdown(t.Context()))
		backup, err := os.ReadFile("shop.db")
		must(t, err)
		w := watchStatus(t, "busgen status shop.db --watch --json")
		time.Sleep(time.Second / 2)
		s.Bus, err = runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		s.place(1, 5)
		must(t, s.Shutdown(t.Context()))
		time.Sleep(2 * time.Second)
		w.out.Take()
		must(t, os.WriteFile("shop.db", backup, 0o600))
		time.Sleep(2 * time.Second)
		if all := looks(t, w.out.Take()); len(all) != 2 || all[0].Rates != nil || all[0].Events != 5 || all[1].Rates == nil || all[1].Rates.Published != 0 {
			t.Errorf("it saw %+v", all)
		}

		// Of a file that was restored, and has grown past where the other one was.
		grow := func(events int) {
			s.Bus, err = runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType))
			must(t, err)
			for range events {
				_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 1, Email: "x@example.org"})
				must(t, err)
			}
			must(t, s.Shutdown(t.Context()))
		}
		grow(3)
		time.Sleep(time.Second)
		w.out.Take()
		must(t, os.WriteFile("shop.db", backup, 0o600))
		grow(10)
		time.Sleep(2 * time.Second)
		if all := looks(t, w.out.Take()); len(all) != 2 || all[0].Rates != nil || all[0].Events != 15 || all[1].Rates == nil {
			t.Errorf("of a file that has grown it saw %+v", all)
		}
		w.interrupt()
		if _, stderr := w.ends(0); stderr != "" {
			t.Errorf("it says %q", stderr)
		}
	})
}

func TestFlagsOfAWatchAreChecked(t *testing.T) {
	inShop(t, func(t *testing.T, _ *shop) {
		for flags, want := range map[string]string{
			"--interval 2s":         "--interval works only with --watch: add that",
			"--count 2":             "--count works only with --watch: add that",
			"--watch --interval 0s": "--interval is 0s: it must be at least 100ms",
			"--watch --interval x":  "want a length of time",
			"--watch --count 0":     "--count is 0: it must be at least 1",
			"--watch --count -1":    "--count is -1: it must be at least 1",
		} {
			if got := typed(t, "busgen status shop.db "+flags, ""); got.Status != cli.StatusTrouble || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: %+v, want %q", flags, got, want)
			}
		}
	})
}
