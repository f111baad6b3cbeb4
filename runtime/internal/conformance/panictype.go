package conformance

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// A dead letter has the type of the value of a panic, not the type of the error that the
// bus makes of it.
func (env *Env) TestAPanicIsRecordedWithTheTypeOfItsValue(t *testing.T) {
	for want, handle := range map[string]func(){
		"runtime.errorString": func() { var p *struct{ n int }; p.n++ },
		"runtime.boundsError": func() { var list []int; _ = list[len(list)] },
		"*fs.PathError":       func() { panic(&fs.PathError{Op: "open", Err: errors.New("gone")}) },
		"string":              func() { panic("on purpose") },
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := env.Target(t)
				bus, err := env.OpenBus(t.Context(), path, Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
				Must(t, err)
				defer bus.Shutdown(context.Background())
				_, err = runtime.SubscribePattern(bus, "*", "worker", func(context.Context, runtime.Event[runtime.Raw]) error { handle(); return nil })
				Must(t, err)
				Must(t, bus.Start(t.Context()))
				_, err = runtime.Publish(t.Context(), bus, UserType, UserCreated{Name: "ada"})
				Must(t, err)
				Must(t, bus.WaitIdle(t.Context()))
				letters, err := env.OpenFile(t.Context(), path)
				Must(t, err)
				defer letters.Close()
				all, _, err := letters.DeadLetters(t.Context(), event.Filter{}, event.Page{})
				Must(t, err)
				if got := all[0].Attempts[0]; got.ErrorType != want || got.Kind != "panic" {
					t.Errorf("a panic is recorded as %s of type %s, want %s", got.Kind, got.ErrorType, want)
				}
			})
		})
	}
}
