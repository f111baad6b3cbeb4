package busfile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

// cancelledLine is what events cancel prints for an event with --json.
type cancelledLine struct {
	ID                 uuid.UUID
	Cancelled, Running []string
}

func TestCancelSaysWhatIsCancelledAndWhatRuns(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		place := func(number int, email string, opts ...runtime.PublishOption) string {
			t.Helper()
			r, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: number, Email: email}, opts...)
			must(t, err)
			return r.ID.String()
		}
		later := func(number int) string { return place(number, "a@example.org", runtime.WithDelay(time.Hour)) }
		lines := func(output string) (all []cancelledLine) {
			t.Helper()
			for decoder := json.NewDecoder(strings.NewReader(output)); decoder.More(); {
				var one cancelledLine
				must(t, decoder.Decode(&one))
				slices.Sort(one.Cancelled)
				all = append(all, one)
			}
			return all
		}
		var all [6]string
		for i := range all {
			all[i] = later(i)
		}

		if got := does(t, "busgen events cancel shop.db "+all[0]+"/ledger --yes"); got != "cancelled event "+all[0]+" for ledger\n" {
			t.Errorf("for one subscription: %s", got)
		}
		got := lines(does(t, "busgen events cancel shop.db "+all[1]+" "+all[2]+" --json --yes"))
		if len(got) != 2 || got[0].ID.String() != all[1] || !slices.Equal(got[1].Cancelled, []string{"ledger", "send-receipt"}) || got[1].Running == nil || len(got[1].Running) > 0 {
			t.Errorf("for all subscriptions: %+v", got)
		}
		if got := typed(t, "busgen events cancel shop.db "+all[3], ""); got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, "say --yes") {
			t.Errorf("nobody has agreed: %+v", got)
		}

		running := place(10, sluggish)
		time.Sleep(time.Second)
		answer := typed(t, "busgen events cancel shop.db "+running+" "+all[4]+" --json --yes", "")
		got = lines(answer.Stdout)
		if answer.Status != cli.StatusNo || len(got) != 2 || !slices.Equal(got[0].Running, []string{"send-receipt"}) || len(got[0].Cancelled) > 0 || len(got[1].Cancelled) != 2 {
			t.Errorf("a handler runs: %+v", answer)
		}
		if !strings.Contains(answer.Stderr, "is being handled by send-receipt") {
			t.Errorf("a handler runs: %s", answer.Stderr)
		}

		settled := place(11, "a@example.org")
		time.Sleep(10 * time.Second)
		for what, refused := range map[string]struct {
			arguments string
			status    int
			says      string
		}{
			"settled":                 {settled, cli.StatusNo, "has no open delivery"},
			"cancelled before":        {all[1], cli.StatusNo, "has no open delivery"},
			"an unknown event":        {uuid.NewString(), cli.StatusNotFound, ""},
			"an unknown subscription": {all[5] + "/legder", cli.StatusNotFound, "ledger"},
			"no event":                {"", cli.StatusTrouble, "id of an event"},
		} {
			got := typed(t, "busgen events cancel shop.db "+refused.arguments+" --yes", "")
			if got.Status != refused.status || got.Stdout != "" || !strings.Contains(got.Stderr, refused.says) {
				t.Errorf("%s: %+v, want status %d", what, got, refused.status)
			}
		}
		several := typed(t, "busgen events cancel shop.db "+settled+" "+all[1]+" "+all[5]+"/ledger --yes", "")
		if several.Status != cli.StatusNo || several.Stdout != "cancelled event "+all[5]+" for ledger\n" ||
			!strings.Contains(several.Stderr, settled+" has no open delivery") || !strings.Contains(several.Stderr, all[1]+" has no open delivery") {
			t.Errorf("the first two of three: %+v", several)
		}
		several = typed(t, "busgen events cancel shop.db "+all[5]+" "+uuid.NewString()+" --yes", "")
		if several.Status != cli.StatusNotFound || several.Stdout != "" {
			t.Errorf("an unknown event: %+v", several)
		}

		received := s.receipts.Load()
		time.Sleep(2 * time.Hour)
		if n := s.receipts.Load() - received; n != 3 { // events 0, 3 and 5
			t.Errorf("after the cancels %d receipts were sent, want 3", n)
		}
	})
}
