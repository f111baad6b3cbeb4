package engine_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestTheNameOfAWaitlistIsBoundedAndItsOwn(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	one, other := engine.WaitlistOf("limit", "mail "+long+"1"), engine.WaitlistOf("limit", "mail "+long+"2")
	if one == other || len(one) > 200 || !strings.HasPrefix(one, "limit mail xxx") {
		t.Errorf("%q and %q", one, other)
	}
	if got, want := engine.Named(engine.WaitlistOf("limit", "mail acme inc")), (event.Waitlist{Kind: "limit", Limit: "mail", Key: "acme inc"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
