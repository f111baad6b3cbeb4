package busfile

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// sell publishes orders with these numbers.
func (s *shop) sell(from, to int) {
	s.t.Helper()
	var orders []clitest.OrderPlaced
	for n := from; n <= to; n++ {
		orders = append(orders, clitest.OrderPlaced{Number: n, Email: "x@example.org"})
	}
	_, err := runtime.PublishBatch(s.t.Context(), s.Bus, clitest.OrderType, orders)
	must(s.t, err)
}

// anotherLook waits until a tail has looked again.
func anotherLook() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// tailed returns the numbers of orders that lines have, as JSON or text.
func tailed(t *testing.T, text string) (numbers string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var event struct{ Payload clitest.OrderPlaced }
		if !strings.HasPrefix(line, "{") {
			line = `{"payload":` + line[strings.Index(line, "{"):] + "}"
		}
		must(t, json.Unmarshal([]byte(line), &event))
		numbers += fmt.Sprint(event.Payload.Number, " ")
	}
	return numbers
}

func TestATailPrintsTheNewestEventsAndThenEachThatIsPublished(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.sell(1, 12)
		time.Sleep(time.Second / 2)
		w := watchStatus(t, "busgen events tail shop.db --type order.placed")
		first := w.out.Take()
		if got := tailed(t, first); got != "3 4 5 6 7 8 9 10 11 12 " {
			t.Errorf("at first it prints %s", got)
		}
		id := shownID(t, "busgen events list shop.db --type order.placed")
		if want := "2026-03-14 02:40:00  " + id + `  order.placed  {"number":12,"email":"x@example.org"}` + "\n"; !strings.HasSuffix(first, want) {
			t.Errorf("it ends with\n%s\nwant\n%s", first[strings.LastIndexByte(strings.TrimSpace(first), '\n')+1:], want)
		}
		if got := w.out.Take(); got != "" {
			t.Errorf("before the next look it prints %q", got)
		}
		s.sell(13, 14)
		anotherLook()
		if got := tailed(t, w.out.Take()); got != "13 14 " {
			t.Errorf("then it prints %s", got)
		}
		s.sell(15, 2500)
		anotherLook()
		if got := strings.Fields(tailed(t, w.out.Take())); len(got) != 2486 || got[0] != "15" || got[2485] != "2500" {
			t.Errorf("then it prints %d events", len(got))
		}
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 3000}, runtime.WithDelay(time.Hour))
		must(t, err)
		anotherLook()
		if got := w.out.Take(); !strings.Contains(got, "  order.placed  due 2026-03-14 03:40:0") {
			t.Errorf("of a delayed event it prints %q", got)
		}
		w.interrupt()
		if stdout, stderr := w.ends(0); stdout != "" || stderr != "" {
			t.Errorf("when it was interrupted it said %q and %q", stdout, stderr)
		}
	})
}

func TestATailBeginsWhereItIsToldAndTakesFilters(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.sell(1, 12)
		time.Sleep(10 * time.Minute)
		_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "pay", func(ctx context.Context, e runtime.Event[clitest.OrderPlaced]) error {
			if e.Payload.Number != 15 {
				return nil
			}
			_, err := runtime.Publish(ctx, s.Bus, clitest.PaymentType, clitest.PaymentRequested{Order: 15, Cents: 100})
			return err
		})
		must(t, err)
		s.sell(13, 14)
		_, err = runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 15, Email: "ada@example.org"}, runtime.WithCorrelationID("job-7"))
		must(t, err)
		anotherLook()
		parent := shownID(t, "busgen events list shop.db --correlation job-7 --type order.placed")
		for _, test := range []struct{ flags, first, next string }{
			{"--since 5m --type order.placed", "13 14 15 ", "100 "},
			{"--limit 0 --type order.*", "", "100 "},
			{"--correlation job-7 --type order.*", "15 ", ""},
			{"--text ada@ --type order.placed", "15 100 100 100 ", "100 "},
			{"-n 5 --type order.placed", "15 100 100 100 100 ", "100 "},
			{"--type payment.requested --text 099", "", ""},
		} {
			w := watchStatus(t, "busgen events tail shop.db --json "+test.flags)
			first := tailed(t, w.out.Take())
			_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 100, Email: "ada@example.org"})
			must(t, err)
			anotherLook()
			w.interrupt()
			stdout, stderr := w.ends(0)
			if next := tailed(t, stdout); first != test.first || next != test.next || stderr != "" {
				t.Errorf("%s: it prints %s and then %s and %q, want %s and then %s", test.flags, first, next, stderr, test.first, test.next)
			}
		}
		var events []event.Event
		for line := range strings.Lines(typed(t, "busgen events tail shop.db --json --child-of "+parent, "").Stdout) {
			var one event.Event
			must(t, json.Unmarshal([]byte(line), &one))
			events = append(events, one)
		}
		if len(events) != 1 || events[0].Type != "payment.requested" || events[0].ParentID == uuid.Nil || events[0].Status != event.StatusDone {
			t.Errorf("the children are %+v", events)
		}
		line, _, _ := strings.Cut(does(t, "busgen events list shop.db --json --limit 1"), "\n")
		if got := strings.TrimSpace(does(t, "busgen events tail shop.db --json -n 1")); got != line {
			t.Errorf("the JSON is\n%s\nand that of list\n%s", got, line)
		}
		if got := does(t, "busgen events tail shop.db --json -n 1 --type order.placed --max-payload 5"); !strings.Contains(got, `"payload":"(`) {
			t.Errorf("with --max-payload it prints %s", got)
		}
		if got := does(t, "busgen events tail shop.db -n 1 --type order.placed --max-payload 5"); !strings.HasSuffix(got, `  {"num…`+"\n") {
			t.Errorf("with --max-payload it prints %s", got)
		}
	})
}

func TestATailRefusesWhatMakesNoSense(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.sell(1, 1)
		for flags, want := range map[string]struct {
			status int
			text   string
		}{
			"shop.db --interval 50ms":         {cli.StatusTrouble, "--interval is 50ms: it must be at least 100ms"},
			"shop.db --limit -1":              {cli.StatusTrouble, "--limit is -1: it must not be negative"},
			"shop.db --limit 5 --since 1h":    {cli.StatusTrouble, "--limit and --since exclude each other"},
			"shop.db --max-payload -1":        {cli.StatusTrouble, "--max-payload is -1"},
			"shop.db --type ''":               {cli.StatusTrouble, "--type is empty"},
			"shop.db --type order.eaten":      {cli.StatusNo, "no event type of this bus matches order.eaten"},
			"shop.db --child-of 0123456789ab": {cli.StatusNotFound, "0123456789ab"},
			"none.db":                         {cli.StatusTrouble, "there is no file none.db"},
			"events.yaml":                     {cli.StatusTrouble, "events.yaml"},
			"":                                {cli.StatusTrouble, "needs the file of a bus"},
			"shop.db more.db":                 {cli.StatusTrouble, "takes one file"},
		} {
			if got := typed(t, "busgen events tail "+flags, ""); got.Status != want.status || got.Stdout != "" || !strings.Contains(got.Stderr, want.text) {
				t.Errorf("%s: %+v, want %+v", flags, got, want)
			}
		}
	})
}

func TestATailGoesOnWithAFileThatIsReplacedOrRestored(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		reopen := func() {
			var err error
			s.Bus, err = runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
			must(t, err)
		}
		s.sell(1, 5)
		time.Sleep(1500 * time.Millisecond)
		must(t, s.Shutdown(t.Context()))
		backup, err := os.ReadFile("shop.db")
		must(t, err)
		w := watchStatus(t, "busgen events tail shop.db --json --type order.placed")
		time.Sleep(500 * time.Millisecond)
		reopen()
		s.sell(6, 8)
		anotherLook()
		must(t, s.Shutdown(t.Context()))
		anotherLook()
		if got := tailed(t, w.out.Take()); got != "1 2 3 4 5 6 7 8 " {
			t.Errorf("before the backup it prints %s", got)
		}
		must(t, os.WriteFile("shop.db", backup, 0o600))
		time.Sleep(200 * time.Millisecond)
		reopen()
		s.sell(20, 29) // past where the log was
		must(t, s.Shutdown(t.Context()))
		time.Sleep(2 * time.Second)
		if got := tailed(t, w.out.Take()); got != "20 21 22 23 24 25 26 27 28 29 " {
			t.Errorf("of the restored file it prints %s", got)
		}
		const remark = "shop.db was replaced, or a backup was restored into it; this goes on with events published since 02:40:0"
		if got := w.errs.Take(); !strings.HasPrefix(got, remark) || strings.Count(got, "\n") != 1 {
			t.Errorf("it says %q", got)
		}
		must(t, os.Rename("shop.db", "old.db"))
		reopen()
		s.sell(40, 41)
		must(t, s.Shutdown(t.Context()))
		time.Sleep(2 * time.Second)
		if got := tailed(t, w.out.Take()); got != "40 41 " {
			t.Errorf("of another file it prints %s", got)
		}
		if got := w.errs.Take(); !strings.HasPrefix(got, remark) {
			t.Errorf("it says %q", got)
		}
		must(t, os.Remove("shop.db"))
		if _, stderr := w.ends(cli.StatusTrouble); !strings.HasPrefix(stderr, "busgen: there is no file shop.db") {
			t.Errorf("of a file that is gone it says %q", stderr)
		}
		reopen() // for the shutdown
	})
}

func TestATailSaysHowManyEventsItHasMissed(t *testing.T) {
	inFolder(t, nil)
	synctest.Test(t, func(t *testing.T) {
		bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType), append(quiet, runtime.WithRetention(time.Minute))...)
		must(t, err)
		defer bus.Shutdown(context.Background())
		must(t, bus.Start(t.Context()))
		s := &shop{t: t, Bus: bus}
		s.sell(1, 3)
		w := watchStatus(t, "busgen events tail shop.db --interval 1h")
		time.Sleep(30 * time.Minute)
		s.sell(4, 300)
		time.Sleep(26*time.Minute + time.Second)
		s.sell(301, 301) // events are pruned once a minute
		time.Sleep(5 * time.Minute)
		w.interrupt()
		stdout, stderr := w.ends(0)
		if got := tailed(t, stdout); got != "1 2 3 301 " || stderr != "297 events were pruned before this could look at them\n" {
			t.Errorf("it prints %s and %q", got, stderr)
		}
	})
}

func TestATailDoesNothingToATerminal(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		hostile := "\x1b[31m\u009b31m \u202e evil \x7f\r\n\t"
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 1, Email: hostile})
		must(t, err)
		got := does(t, "busgen events tail shop.db")
		if strings.ContainsAny(got, "\x1b\u009b\u202e\x7f\r\t") || strings.Count(got, "\n") != 1 {
			t.Errorf("%q", got)
		}
		t.Setenv("COLUMNS", "60")
		if got := does(t, "busgen events tail shop.db"); len([]rune(strings.TrimSuffix(got, "\n"))) != 60 || !strings.HasSuffix(got, "…\n") {
			t.Errorf("%q", got)
		}
	})
}
