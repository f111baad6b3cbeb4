package inspect_test

import (
	"testing"
	"testing/synctest"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAFileForAnotherActorHidesWhatTheFirstOneHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		hiding := f.File.Hiding()
		as, err := hiding.As(t.Context(), "bo")
		Must(t, err)
		defer as.Close()
		if as.Hiding() != as || as.Actor() != "bo" {
			t.Error("the file for another actor hides nothing")
		}
		open, err := f.File.As(t.Context(), "bo")
		Must(t, err)
		defer open.Close()
		if open.Hiding() == open {
			t.Error("the file for another actor hides what the first one shows")
		}
		Must(t, hiding.Release())
	})
}
