package busfile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

// What an event holds may be an attack on the terminal of whoever looks at it.
func TestJSONHasNoControlCharacters(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		hostile := "\u009b31m \u202e evil \x7f \u2066 \U000e0041 é 👩\u200d💻 \u2028"
		_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 1, Email: hostile})
		must(t, err)
		time.Sleep(time.Second)
		for _, command := range []string{"busgen events list shop.db --json", "busgen events tail shop.db --json", "busgen dlq list shop.db --json", "busgen dlq groups shop.db --json"} {
			got := does(t, command)
			if i := strings.IndexFunc(got, func(r rune) bool {
				return r != '\n' && strings.ContainsRune("\u009b\u202e\x7f\u2066\U000e0041\u2028", r)
			}); i >= 0 {
				t.Errorf("%s has %q", command, got[i:i+4])
			}
			if !strings.Contains(got, `\u009b31m \u202e evil \u007f \u2066 \udb40\udc41 é 👩`) && !strings.Contains(got, "<text>") {
				t.Errorf("%s: %s", command, got)
			}
			if !json.Valid([]byte(strings.SplitN(got, "\n", 2)[0])) {
				t.Errorf("%s is not JSON: %s", command, got)
			}
		}
		var event struct{ Payload clitest.OrderPlaced }
		must(t, json.Unmarshal([]byte(does(t, "busgen events list shop.db --json")), &event))
		if event.Payload.Email != hostile {
			t.Errorf("the payload is %q", event.Payload.Email)
		}
	})
}

func TestTextAndJSONShowTheSameFailures(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.down.Store(true)
		s.order(1, "a@b", 100)
		time.Sleep(3 * time.Second) // two of three attempts
		s.down.Store(false)
		time.Sleep(time.Minute)
		id := shownID(t, "busgen events list shop.db --type payment.requested")
		if text := does(t, "busgen events show shop.db "+id); !strings.Contains(text, "charge-card   done        2") {
			t.Errorf("%s", text)
		}
		var event struct {
			Failures   int
			Deliveries []struct{ Failures, Counted int }
		}
		must(t, json.Unmarshal([]byte(does(t, "busgen events show shop.db --json "+id)), &event))
		if d := event.Deliveries[0]; event.Failures != 2 || d.Failures != 2 || d.Counted != 0 {
			t.Errorf("%+v", event)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// All that the last attempt has logged, and the end of what the others have.
func TestWhatAttemptsHaveLoggedIsShownBelowThem(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.down.Store(true)
		s.order(chatty, "a@b", 100)
		time.Sleep(10 * time.Minute)
		line := func(attempt, n int) string {
			return fmt.Sprintf(`level=INFO msg="asked the provider" attempt=%d line=%d answer="\x1b[31mno\nwait\u202e"`, attempt, n)
		}
		id := shownID(t, "busgen events list shop.db --type payment.requested")
		for _, verb := range []string{"dlq", "events"} {
			got := does(t, "busgen "+verb+" show shop.db "+id)
			first, second := strings.Index(got, "failed attempt 1"), strings.Index(got, "failed attempt 2")
			last := strings.Index(got, "failed attempt 3")
			if first < 0 || second < first || last < second {
				t.Fatal(got)
			}
			if part := got[first:second]; !strings.Contains(part, "  Logged, without 2 lines before (--json has them):\n    time=2026-03-14T02:40:10.000Z "+line(1, 2)) ||
				strings.Contains(part, line(1, 1)) || !strings.Contains(part, line(1, 4)) {
				t.Errorf("%s", part)
			}
			if part := got[last:]; !strings.Contains(part, "  Logged:\n") || strings.Count(part, "asked the provider") != 5 || !strings.Contains(part, line(3, 0)) {
				t.Errorf("%s", part)
			}
			var found struct {
				Letter     struct{ Attempts []struct{ Log string } }
				Deliveries []struct{ Attempts []struct{ Log string } }
			}
			must(t, json.Unmarshal([]byte(does(t, "busgen "+verb+" show shop.db --json "+id)), &found))
			attempts := found.Letter.Attempts
			if verb == "events" {
				attempts = found.Deliveries[0].Attempts
			}
			if len(attempts) != 3 || strings.Count(attempts[0].Log, "\n") != 5 || !strings.Contains(attempts[0].Log, line(1, 0)) {
				t.Errorf("%s show --json has %+v", verb, attempts)
			}
		}
		// Whoever writes the file may have put anything there.
		file, err := sqlite3.Open("shop.db")
		must(t, err)
		must(t, file.Exec("UPDATE busgen_attempts SET log = 'one' || char(27) || '[31m' || char(13) || 'two' || char(0x202e, 10) || 'three'"))
		must(t, file.Close())
		if got := does(t, "busgen dlq show shop.db "+id); strings.ContainsAny(got, "\x1b\r\u202e") || !strings.Contains(got, "    one\\x1b[31mtwo\\u202e\n    three\n") {
			t.Errorf("%q", got)
		}
	})
}
