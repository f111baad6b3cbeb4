package inspect_test

import (
	"os"
	"testing"
	"testing/synctest"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAProgramThatEndsLeavesNoWriteAheadLogBesideAFileThatWasReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		f.MustStart()
		f.Publish(1)
		Must(t, Second(f.File.Status(t.Context())))
		Must(t, f.File.PauseSubscription(t.Context(), "printer", "")) // now it has the file open for writing
		Must(t, f.File.Release())
		Must(t, f.File.Release())
		f.Stop()
		if _, err := os.Stat(f.Path + "-wal"); !os.IsNotExist(err) {
			t.Errorf("the write-ahead log is there: %v", err)
		}
		Must(t, f.File.ResumeSubscription(t.Context(), "printer"))
		status, err := f.File.Status(t.Context())
		if err != nil || len(status.Subscriptions) != 1 || len(status.Pauses) > 0 {
			t.Errorf("after its release the file has %+v, %v", status, err)
		}
		Must(t, f.File.Close())
		Must(t, f.File.Release())
	})
}
