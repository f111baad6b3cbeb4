package busfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// A search for a text is made in steps, of which the lists that are shown know nothing.
func TestASearchInStepsFindsWhatOneStepFinds(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		for n := 1; n <= 12; n++ {
			s.order(n, fmt.Sprintf("customer%d@example.org", n%3), 5000)
		}
		time.Sleep(time.Second)
		list := func(more string) (ids []string, next string) {
			for line := range strings.Lines(does(t, "busgen events list shop.db --json --text customer1 "+more)) {
				var one struct{ ID, Next string }
				must(t, json.Unmarshal([]byte(line), &one))
				if next = one.Next; next == "" {
					ids = append(ids, one.ID)
				}
			}
			return ids, next
		}
		want, _ := list("")
		before := searchedAtOnce
		defer func() { searchedAtOnce = before }()
		searchedAtOnce = 2
		got, next := list("")
		if len(want) != 4 || fmt.Sprint(got) != fmt.Sprint(want) || next != "" {
			t.Errorf("found %v in steps, and more behind %q, want %v", got, next, want)
		}
		first, next := list("--limit 3")
		rest, _ := list("--limit 3 --after " + next)
		if fmt.Sprint(append(first, rest...)) != fmt.Sprint(want) || len(first) != 3 {
			t.Errorf("found %v and %v on two pages, want %v", first, rest, want)
		}
	})
}

// streamed are the fields of a line of "events list --json" and "events tail --json". Other tools rely on them: add some at the
// end, and rename and remove none.
var streamed = []string{
	"id", "type", "version", "status", "published_at", "due_at", "failures", "correlation_id", "parent_id", "published_by", "hops", "payload", "payload_bytes", "metadata",
}

func TestTheStreamOfEventsKeepsItsFields(t *testing.T) {
	var got []string
	of := reflect.TypeFor[event.Event]()
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "-" {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, streamed) {
		t.Errorf("a line has %q, want %q", got, streamed)
	}
}
