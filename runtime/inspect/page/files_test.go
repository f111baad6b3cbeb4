package page_test

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

func TestAProgramThatEndsLeavesNoWriteAheadLogBesideAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		f.MustStart()
		p := open(t, f)
		fields := formOf(t, shows(t, p, "/"), "pause")
		follow(t, p, "/pause", fields...)
		f.Stop()
		if _, err := os.Stat(f.Path + "-wal"); !os.IsNotExist(err) {
			t.Errorf("the write-ahead log is there: %v", err)
		}
		shows(t, p, "/", "printer")
	})
}

// slowEngine is SQLite; the first status takes until answer is closed.
type slowEngine struct {
	sqlite.Engine
	asked, answer chan bool
	slow          *atomic.Bool
}

func (e slowEngine) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	log, err := e.Engine.Inspect(ctx, target, actor)
	return slowLog{log, &sync.Mutex{}, e}, err
}

// slowLog does one thing after the other, as all of them do.
type slowLog struct {
	engine.Inspection
	mu     *sync.Mutex
	engine slowEngine
}

func (l slowLog) Status(ctx context.Context, limit int, since event.Status) (event.Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine.slow.CompareAndSwap(false, true) {
		close(l.engine.asked)
		<-l.engine.answer
	}
	return l.Inspection.Status(ctx, limit, since)
}

func TestASlowLookDoesNotHoldUpOtherTabs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		slow := slowEngine{asked: make(chan bool), answer: make(chan bool), slow: new(atomic.Bool)}
		file, err := inspect.Open(t.Context(), f.Path, inspect.WithEngine(slow))
		Must(t, err)
		defer file.Close()
		p := on(t, file)
		var all sync.WaitGroup
		all.Go(func() { shows(t, p, "/", "printer") })
		<-slow.asked
		for range 10 {
			all.Go(func() { shows(t, p, "/", "printer") })
		}
		for range 3 {
			shows(t, p, "/", "printer")
		}
		close(slow.answer)
		all.Wait()
		Must(t, p.Close())
	})
}
