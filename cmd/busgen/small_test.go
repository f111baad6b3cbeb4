package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/busgen/busgen/runtime"
)

func TestHelpForAVerbThatIsNotThereIsTrouble(t *testing.T) {
	for command, want := range map[string]string{
		"busgen help nope":          `there is no verb "nope"`,
		"busgen help stauts":        `there is no verb "stauts": did you mean status?`,
		"busgen help dlq lsit":      `busgen dlq has no verb "lsit": did you mean list`,
		"busgen help status nope":   `busgen status has no verb "nope"`,
		"busgen help dlq list nope": `busgen dlq list has no verb "nope"`,
	} {
		if got := typed(t, command, ""); got.status != statusTrouble || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
	for command, want := range map[string]string{
		"busgen help":           "busgen reads a catalogue",
		"busgen help status":    "Status is the first thing to look at",
		"busgen help dlq retry": "Retry makes dead letters due now",
		"busgen help help":      "Help",
		"busgen dlq":            "A dead letter is a delivery",
	} {
		if got := typed(t, command, ""); got.status != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
}

func TestTheVersionIsAFlagToo(t *testing.T) {
	want := typed(t, "busgen version", "")
	if got := typed(t, "busgen --version", ""); got != want || got.status != 0 || !strings.Contains(got.stdout, "generation contract") {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTheNumberOfAFlagIsDecimal(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		for _, verb := range append(cmd.Commands(), cmd) {
			verb.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Value.Type() != "int" {
					return
				}
				if err := f.Value.Set("010"); err != nil || f.Value.String() != "10" {
					t.Errorf("%s --%s 010 is %s, %v", verb.CommandPath(), f.Name, f.Value, err)
				}
			})
		}
	}
}

func TestAFlagThatDoesNotFitIsExplainedInWords(t *testing.T) {
	for command, want := range map[string]string{
		"busgen dlq retry x.db --rate abc":    `--rate takes a number, not "abc": see "busgen dlq retry --help"`,
		"busgen dlq retry x.db --limit 1.5":   `--limit takes a whole number, not "1.5"`,
		"busgen dlq retry x.db -n abc":        `--limit takes a whole number, not "abc"`,
		"busgen dlq retry x.db -n 0x10":       `--limit takes a whole number, not "0x10"`,
		"busgen dlq retry x.db --rate 1e999":  `--rate takes a number that is not as large as "1e999"`,
		"busgen dlq retry x.db --all=5":       `--all takes true or false, not "5"`,
		"busgen dlq list x.db --since maybe":  `--since is "maybe": want a time, as in 2026-03-14`,
		"busgen dlq purge x.db --older-than ": "flag needs an argument",
	} {
		got := typed(t, command, "")
		if got.status != statusTrouble || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "strconv") {
			t.Errorf("%s: %+v, want %q", command, got, want)
		}
	}
}

// What an event holds may be an attack on the terminal of whoever looks at it.
func TestJSONDoesNothingToATerminal(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		hostile := "\u009b31m \u202e evil \x7f \u2066 \U000e0041 é 👩\u200d💻 \u2028"
		_, err := runtime.Publish(t.Context(), s.Bus, orderType, orderPlaced{1, hostile})
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
		var event struct{ Payload orderPlaced }
		must(t, json.Unmarshal([]byte(does(t, "busgen events list shop.db --json")), &event))
		if event.Payload.Email != hostile {
			t.Errorf("the payload is %q", event.Payload.Email)
		}
	})
}

func TestPeopleAndProgramsAreToldTheSameFailures(t *testing.T) {
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
