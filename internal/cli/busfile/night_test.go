package busfile

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
)

const (
	poison   = 666_666_666            // an amount that ends the process of its handler
	tarpit   = "tarpit@example.org"   // the mail server takes the receipt, and does not answer
	sluggish = "sluggish@example.org" // it takes its time, once
)

// die is what a handler does that ends its process. A success is in the file after 5 ms: while
// receipts are sent it waits, because one that was sent just before would be sent again.
func (s *shop) die(ctx context.Context) error {
	for sent := int64(-1); sent != s.receipts.Load(); time.Sleep(10 * time.Millisecond) {
		sent = s.receipts.Load()
	}
	s.dying <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// killed goes on with a program that is started again ten seconds after its process
// was killed, with the files as they were then.
func (s *shop) killed() {
	s.t.Helper()
	synctest.Wait()
	folder := s.t.TempDir()
	for _, suffix := range []string{"", "-wal", "-claims"} {
		content, err := os.ReadFile("shop.db" + suffix)
		must(s.t, err)
		must(s.t, os.WriteFile(folder+"/shop.db"+suffix, content, 0o600))
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s.Shutdown(ended)
	s.t.Chdir(folder)
	time.Sleep(10 * time.Second)
	s.open()
}

// nightShift opens the shop on another file, and has everything happen to it that the
// night of the guide is about.
func (s *shop) nightShift() {
	t := s.t
	must(t, s.Shutdown(t.Context()))
	t.Chdir(t.TempDir())
	time.Sleep(time.Until(time.Date(2026, 3, 15, 2, 40, 0, 0, time.UTC)))
	s.receipts.Store(0)
	s.paid.Store(0)
	s.booked.Store(0)
	s.dying = make(chan struct{}, 1)
	s.open()
	email := func(n int) string { return fmt.Sprintf("customer%d@example.org", n) }
	for n := 101; n <= 105; n++ {
		s.order(n, email(n), 5000)
		time.Sleep(20 * time.Second)
	}
	does(t, `busgen subscriptions pause shop.db ledger --actor bob --because "moving the ledger, back at 23:00"`)
	time.Sleep(time.Second)

	// The poison is not alone when it ends the process for the first time.
	_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 106, Email: sluggish})
	must(t, err)
	time.Sleep(time.Second)
	s.pay(106, poison)
	for lives := 1; ; lives++ {
		select {
		case <-s.dying:
			s.killed()
			continue
		case <-time.After(time.Minute):
		}
		if lives > 4 { // one more than max_attempts
			t.Errorf("the poison took %d lives", lives)
		}
		break
	}
	settings := clitest.ShopSettings()
	settings.Breaker.Off = false
	must(t, s.Tune(runtime.Tuning{Types: map[string]declare.Settings{"payment.requested": settings}}))
	s.order(107, email(107), 5000)
	s.order(108, tarpit, 5000)
	for n := 109; n <= 112; n++ {
		s.order(n, email(n), 5000)
		time.Sleep(20 * time.Second)
	}
	s.down.Store(true)
	time.Sleep(30 * time.Second)
	for n := 113; n <= 118; n++ {
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: n, Email: email(n)})
		must(t, err)
		s.pay(n, 5000)
		time.Sleep(time.Second)
	}
	time.Sleep(8 * time.Second)
}

// dayBreaks checks that the night is over: everything was handled but for what was
// discarded, and nothing is left.
func (s *shop) dayBreaks() {
	t := s.t
	var status event.Status
	must(t, json.Unmarshal([]byte(does(t, "busgen status shop.db --json")), &status))
	for _, one := range status.Subscriptions {
		if one.Backlog > 0 || one.Dead > 0 || one.Paused {
			t.Errorf("the night is not over for %s: %+v", one.Name, one)
		}
	}
	if len(status.Breakers)+len(status.Pauses)+status.DeadLetters > 0 {
		t.Errorf("the night is not over: %+v", status)
	}
	if receipts, paid, booked := s.receipts.Load(), s.paid.Load(), s.booked.Load(); receipts != 17 || paid != 17 || booked != 18 {
		t.Errorf("%d receipts, %d payments and %d bookings, want 17, 17 and 18", receipts, paid, booked)
	}
	time.Sleep(time.Hour) // the handlers that were left behind come to an end
}

// TestTheNightOfTheGuideTakesFewCommands counts the commands of the section that
// [TestTheOperatorsGuideShowsWhatIsPrinted] replays.
func TestTheNightOfTheGuideTakesFewCommands(t *testing.T) {
	text, err := os.ReadFile(guide)
	must(t, err)
	_, section, found := strings.Cut(string(text), "\n<!-- a night with four problems -->\n")
	section, rest, over := strings.Cut(section, "\n<!-- the night is over -->\n")
	if !found || !over || strings.Contains(rest, "```console") {
		t.Fatal("the guide has no night that it ends with")
	}
	commands := regexp.MustCompile(`(?m)^\$ (.*)$`).FindAllStringSubmatch(section, -1)
	if len(commands) < 4 || len(commands) >= 15 {
		t.Errorf("the night takes %d commands, want fewer than 15", len(commands))
	}
	for _, one := range commands {
		if !strings.HasPrefix(one[1], "busgen ") {
			t.Errorf("%s is no command of busgen", one[1])
		}
	}
}
