package busfile

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

func TestStatusAsJSONHasTheLastHour(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight() // of 20 minutes
		time.Sleep(10 * time.Minute)
		must(t, s.Shutdown(context.Background()))
		var status struct {
			event.Status
			Hour event.Hour `json:"hour"`
		}
		must(t, json.Unmarshal([]byte(does(t, "busgen status shop.db --json")), &status))
		all := func(minutes []int) (sum int) {
			for m, n := range minutes {
				if n > 0 && (m < 29 || m > 49) {
					t.Errorf("%d in minute %d", n, m)
				}
				sum += n
			}
			return sum
		}
		if got := status.Hour.Published; len(got) != 60 || all(got) != status.Events || status.Events < 40 {
			t.Errorf("%d events were published: %v", status.Events, got)
		}
		dead := 0
		for _, one := range status.Hour.Subscriptions {
			if one.Name == "" || all(one.Dead) == 0 {
				t.Errorf("the hour has %+v", one)
			}
			dead += all(one.Dead)
		}
		if got := status.Hour.Dead; len(got) != 60 || all(got) != status.DeadLetters || dead != status.DeadLetters || dead < 5 {
			t.Errorf("of %d dead letters, %d are those of subscriptions: %v", status.DeadLetters, dead, got)
		}
		if !status.Hour.At.After(status.At.Add(-time.Second)) {
			t.Errorf("the hour ends at %v", status.Hour.At)
		}
		if got := does(t, "busgen status shop.db --watch --count 1 --json"); strings.Contains(got, `"hour"`) {
			t.Errorf("each look of a watch has the hour: %s", got)
		}
	})
}
