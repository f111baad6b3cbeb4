package txtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/observe"
)

// Somebody begins a transaction of the database, and forgets it.
func TestAForgottenTransactionIsNamedAndPublishersWaitFiveSecondsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx := context.Background()
		_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(context.Context, runtime.Event[booking]) error { return nil })
		f.must(err)
		f.must(f.Start(ctx))
		_, file, line, _ := goruntime.Caller(0)
		tx, err := runtime.DB(f.Bus).BeginTx(ctx, nil) // this line is named
		begun := fmt.Sprintf("%s:%d", filepath.Base(file), line+1)
		f.must(err)
		began := time.Now()
		var waited conformance.Journal[time.Duration]
		publish := func() {
			called := time.Now()
			_, err := runtime.Publish(ctx, f.Bus, bookedType, booking{Account: 1})
			waited.Add(time.Since(called))
			var storage *event.StorageError
			if !errors.As(err, &storage) || storage.Fault != event.Busy ||
				!strings.Contains(err.Error(), "a transaction of this program, of runtime.DB, begun by ") || !strings.Contains(err.Error(), begun+" at ") {
				t.Errorf("the publisher got %v", err)
			}
		}
		var publishers sync.WaitGroup
		for _, after := range []time.Duration{0, 100 * time.Millisecond, 2 * time.Second, 4900 * time.Millisecond} {
			publishers.Go(func() {
				time.Sleep(after)
				publish()
			})
		}
		publishers.Wait()
		if took := time.Since(began); took < 5*time.Second || took > 5500*time.Millisecond {
			t.Errorf("the publishers had to wait %v, want 5s", took)
		}
		publishers.Go(publish)
		publishers.Wait()
		if all := waited.All(); all[len(all)-1] > time.Second {
			t.Errorf("who came after 5 seconds had to wait %v", all)
		}
		time.Sleep(10 * time.Second)
		held := func() observe.HealthCheck {
			all := f.Health().Checks
			return all[len(all)-1]
		}
		if c := held(); c.Name != observe.CheckHeld || !c.Exceeded || c.Value != 1 || !strings.HasSuffix(c.Mostly, begun) || f.Health().Healthy {
			t.Errorf("the health is %+v", f.Health())
		}
		lines := slices.DeleteFunc(f.log.Level(t, "ERROR"), func(line map[string]any) bool { return line["begun_by"] == nil })
		if len(lines) != 1 || !strings.HasSuffix(lines[0]["begun_by"].(string), begun) {
			t.Errorf("the log has %v", lines)
		}
		f.must(tx.Rollback())
		_, err = runtime.Publish(ctx, f.Bus, bookedType, booking{Account: 1})
		f.must(err)
		time.Sleep(10 * time.Second)
		if c := held(); c.Exceeded || c.Mostly != "" || !f.Health().Healthy {
			t.Errorf("the health is %+v", f.Health())
		}
		f.must(f.Shutdown(ctx))
	})
}
