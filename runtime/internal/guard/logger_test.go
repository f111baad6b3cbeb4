package guard

import (
	"context"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// blocking is a log handler whose lines block until the channel is closed.
type blocking struct {
	free chan struct{}
	do   func(line string)

	mu    sync.Mutex
	lines []string
}

func (*blocking) Enabled(context.Context, slog.Level) bool { return true }
func (b *blocking) WithAttrs([]slog.Attr) slog.Handler     { return b }
func (b *blocking) WithGroup(string) slog.Handler          { return b }
func (b *blocking) Handle(_ context.Context, r slog.Record) error {
	<-b.free
	b.mu.Lock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	b.lines = append(b.lines, text)
	b.mu.Unlock()
	if b.do != nil {
		b.do(r.Message)
	}
	return nil
}

func TestALogHandlerThatBlocksIsWaitedForOnceAndNoLineOfItIsOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &blocking{free: make(chan struct{})}
		log := Logger(slog.New(to))
		began := time.Now()
		var want []string
		for i := range 10 {
			want = append(want, fmt.Sprint("line ", i))
			log.With("a", 1).Info(want[i])
		}
		if took := time.Since(began); took != Patience {
			t.Errorf("ten lines took %v, want %v for the first", took, Patience)
		}
		close(to.free)
		synctest.Wait()
		want = append(want, "after it")
		log.Info("after it")
		if !slices.Equal(to.lines, want) {
			t.Errorf("got %q", to.lines)
		}
	})
}

func TestLinesThatAreLostBehindALogHandlerThatBlocksAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &blocking{free: make(chan struct{})}
		log := Logger(slog.New(to))
		for range linesKept + 8 {
			log.Info("line")
		}
		close(to.free)
		synctest.Wait()
		if last := to.lines[len(to.lines)-1]; len(to.lines) != linesKept+2 || last != missing+" lines=7" {
			t.Errorf("got %d lines, the last is %q", len(to.lines), last)
		}
	})
}

func TestALogHandlerThatEndsItsGoroutineLosesThatLineOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &blocking{free: make(chan struct{})}
		to.do = func(line string) {
			if line == "bad" {
				goruntime.Goexit()
			}
		}
		log := Logger(slog.New(to))
		log.Info("blocks")
		log.Info("bad")
		log.Info("good")
		close(to.free)
		synctest.Wait()
		log.Info("bad")
		log.Info("last")
		if want := []string{"blocks", "bad", "good", "bad", "last"}; !slices.Equal(to.lines, want) {
			t.Errorf("got %q, want %q", to.lines, want)
		}
	})
}
