package page_test

import (
	"context"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// beforeCounts is SQLite that calls a function, once, before it counts dead letters.
type beforeCounts struct {
	sqlite.Engine
	once *atomic.Pointer[func()]
}

func (b beforeCounts) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	i, err := b.Engine.Inspect(ctx, target, actor)
	return countsAfter{i, b.once}, err
}

type countsAfter struct {
	engine.Inspection
	once *atomic.Pointer[func()]
}

func (c countsAfter) CountDeadLetters(ctx context.Context, f engine.Filter) (int, error) {
	if do := c.once.Swap(nil); do != nil {
		(*do)()
	}
	return c.Inspection.CountDeadLetters(ctx, f)
}

func TestAJobThatEndsWhileItsPageIsMadeIsCountedInFull(t *testing.T) {
	for limit, want := range map[string]string{
		"":    "Done: 300 of 300 dead letters retried",
		"200": "Done: 200 of 200 dead letters retried", // of which 100 are left: they are not part of the job
	} {
		synctest.Test(t, func(t *testing.T) {
			f := SQLite.MakeManyDead(t, 300)
			f.Repair()
			worker, once := on(t, f.Inspect().File), &atomic.Pointer[func()]{}
			job := begin(t, worker, "retry", url.Values{"rate": {"10"}, "limit": {limit}})
			time.Sleep(10 * time.Second)
			Must(t, worker.Close()) // as when its process was killed
			file, err := inspect.Open(t.Context(), f.Path, inspect.WithEngine(beforeCounts{once: once}))
			Must(t, err)
			defer file.Close()
			p := on(t, file)
			got := shows(t, p, job, "Interrupted, or done by another process: ")
			end := func() {
				other := on(t, f.Inspect().File)
				follow(t, other, "/resume-job", formOf(t, shows(t, other, job), "resume-job")...)
				time.Sleep(time.Minute)
				shows(t, other, job, want)
			}
			once.Store(&end)
			if got = shows(t, p, job, want); once.Load() != nil {
				t.Errorf("the page of a job counts no dead letters:\n%s", got)
			}
		})
	}
}
