package busotel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

type registered struct {
	Email string `json:"email"`
}

func (r registered) Validate() error {
	if r.Email == "" {
		return errors.New("an email is missing")
	}
	return nil
}

// The catalogue says which fields are sensitive. A program's errors have such values all the same.
func TestSpansHaveNoSensitiveValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const schema = `{"event":"user.registered","version":1,"payload":{"email":{"type":"string","sensitive":true}}}`
		settings := conformance.Within(0, conformance.Exact(retry.MaxAttempts(2)))
		registeredType := runtime.Define(runtime.Spec[registered]{Name: "user.registered", Settings: settings, Schema: schema})
		traces := newTraces(t)
		f := conformance.SQLite.ReopenWith(t, conformance.SQLite.Target(t), runtime.NewCatalogue(registeredType), traces.option())
		no := func(r registered) error { return fmt.Errorf("no mailbox for %s", r.Email) }
		_, err := runtime.Subscribe(f.Bus, registeredType, "greeter", func(_ context.Context, e runtime.Event[registered]) error { return no(e.Payload) })
		conformance.Must(t, err)
		_, err = runtime.Subscribe(f.Bus, registeredType, "refuser", func(_ context.Context, e runtime.Event[registered]) error {
			return runtime.Discard("spam from " + e.Payload.Email)
		})
		conformance.Must(t, err)
		_, err = runtime.SubscribeBatch(f.Bus, registeredType, "export", func(_ context.Context, events []runtime.Event[registered]) error {
			return no(events[0].Payload)
		})
		conformance.Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, registeredType, registered{"zebediah@example.org"})
		conformance.Must(t, err)
		f.Idle()
		all := fmt.Sprintf("%+v", traces.spans())
		if strings.Contains(all, "zebediah") || strings.Count(all, "no mailbox for [hidden]") < 4 || !strings.Contains(all, "spam from [hidden]") {
			t.Errorf("the spans are %s", all)
		}
	})
}
