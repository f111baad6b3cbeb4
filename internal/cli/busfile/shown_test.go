package busfile

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

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
		for _, command := range []string{"busgen events list shop.db --json", "busgen dlq list shop.db --json", "busgen dlq groups shop.db --json"} {
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
