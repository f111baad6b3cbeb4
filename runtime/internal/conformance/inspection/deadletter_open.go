package inspection

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func (env *Env) TestMeaninglessOptionsAreRefused(t *testing.T) {
	for want, option := range map[string]inspect.Option{"WithActor": inspect.WithActor(""), "WithEditing": inspect.WithEditing(nil)} {
		if _, err := env.OpenFile(t.Context(), "none", option); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
}

func (env *Env) TestAClosedInspectorSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.OpenJobs(t).Inspect(inspect.WithEditing(jobCatalogue.Check))
		Must(t, i.Close())
		Must(t, i.Close())
		ctx, until := t.Context(), inspect.Selection{Filter: event.Filter{Until: jan(1)}}
		for name, call := range map[string]func() error{
			"List":    func() error { _, _, err := i.DeadLetters(ctx, event.Filter{}, event.Page{}); return err },
			"Count":   func() error { _, err := i.CountDeadLetters(ctx, event.Filter{}); return err },
			"Get":     func() error { _, err := i.DeadLetter(ctx, event.Key{}); return err },
			"Groups":  func() error { _, err := i.FailureGroups(ctx, event.Filter{}); return err },
			"Retry":   func() error { _, err := i.Retry(ctx, inspect.Selection{}); return err },
			"Discard": func() error { _, err := i.DiscardDeadLetters(ctx, inspect.Selection{}, "old"); return err },
			"Purge":   func() error { _, err := i.Purge(ctx, until); return err },
			"Edit":    func() error { _, err := i.Edit(ctx, event.Key{}, nil); return err },
			"Export":  func() error { _, err := i.Export(ctx, &strings.Builder{}, event.Filter{}); return err },
			"Import":  func() error { _, err := i.Import(ctx, strings.NewReader("")); return err },
			"Audit":   func() error { _, _, err := i.Audit(ctx, event.AuditFilter{}, event.Page{}); return err },
		} {
			if err := call(); !errors.Is(err, inspect.ErrClosed) {
				t.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		}
	})
}

func (env *Env) TestAKeyIsParsedAsItIsPrinted(t *testing.T) {
	key := event.Key{EventID: uuid.Must(uuid.NewV7()), Subscription: "billing/eu west"}
	if got, err := inspect.ParseKey(key.String()); got != key || err != nil {
		t.Errorf("ParseKey(%s) = %v, %v", key, got, err)
	}
	for _, text := range []string{"", "x", "x/y", key.EventID.String(), key.EventID.String() + "/"} {
		if _, err := inspect.ParseKey(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("ParseKey(%q) returned %v", text, err)
		}
	}
}
