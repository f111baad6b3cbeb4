package busfile

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

// An answered error says by a method which answer it was.
type answered int

func (answered) Error() string     { return "the shop has answered" }
func (a answered) StatusCode() int { return int(a) }

func TestGroupsWithOneMessageAreToldApartByTheCodesOfTheirErrors(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "caller", func(_ context.Context, e runtime.Event[clitest.OrderPlaced]) error {
			return runtime.Permanent(answered(e.Payload.Number))
		})
		must(t, err)
		for _, code := range []int{404, 503, 404} {
			s.order(code, "a@b", 1)
		}
		time.Sleep(time.Second)
		got := does(t, "busgen dlq groups shop.db")
		for _, want := range []string{"the shop has answered (busfile.answered(404))\n", "the shop has answered (busfile.answered(503))\n"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("it does not say %q once:\n%s", want, got)
			}
		}
	})
}

func TestALongErrorDoesNotFloodTheListOfGroups(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.order(5, strings.Repeat("no address ", 500), 1)
		_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "talker", func(context.Context, runtime.Event[clitest.OrderPlaced]) error {
			return runtime.Permanent(errorText(strings.Repeat("nobody is there, ", 500)))
		})
		must(t, err)
		s.order(6, "a@b", 1)
		time.Sleep(time.Second)
		got := does(t, "busgen dlq groups shop.db")
		for line := range strings.Lines(got) {
			if n := len([]rune(line)); n > 310 {
				t.Errorf("a line has %d characters:\n%s", n, line)
			}
		}
		if n := strings.Count(got, "nobody is there"); n < 10 || n > 20 {
			t.Errorf("of the error %d parts are shown:\n%s", n, got)
		}
	})
}

type errorText string

func (e errorText) Error() string { return string(e) }
