package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/dlq"
	"github.com/busgen/busgen/runtime/retry"
)

type job struct {
	Number int `json:"number"`
}

func (job) Validate() error { return nil }

var (
	jobType   = runtime.Define(runtime.Spec[job]{Name: "job.queued", Retry: retry.Default().With(retry.MaxAttempts(2), retry.Jitter(0)), Timeout: time.Second})
	catalogue = runtime.NewCatalogue(jobType)
)

// bury makes a file with one dead letter per number, a minute apart, and
// leaves the bus running with a handler that fails while broken is true.
func bury(t *testing.T, broken *atomic.Bool, numbers ...int) (path string, handled *handledJobs, bus *runtime.Bus) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "events.db")
	bus, err := runtime.Open(t.Context(), path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	broken.Store(true)
	handled = &handledJobs{}
	_, err = runtime.Subscribe(bus, jobType, "worker", func(_ context.Context, e runtime.Event[job]) error {
		if broken.Load() {
			return fmt.Errorf("job %d, attempt %d", e.Payload.Number, e.Attempt)
		}
		handled.add(e.Payload.Number)
		return nil
	})
	must(t, err)
	must(t, bus.Start(t.Context()))
	for _, n := range numbers {
		_, err := runtime.Publish(t.Context(), bus, jobType, job{Number: n}, runtime.WithMetadata(map[string]string{"n": fmt.Sprint(n)}))
		must(t, err)
		must(t, bus.WaitIdle(t.Context()))
		time.Sleep(time.Minute)
	}
	return path, handled, bus
}

// handledJobs collects the numbers of the jobs that were handled.
type handledJobs struct {
	mu      sync.Mutex
	numbers []int
}

func (h *handledJobs) add(number int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.numbers = append(h.numbers, number)
}

func (h *handledJobs) all() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.numbers)
}

func inspect(t *testing.T, path string) *dlq.Inspector {
	t.Helper()
	i, err := dlq.Open(path)
	must(t, err)
	t.Cleanup(func() { i.Close() })
	return i
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func payloads(letters []dlq.Letter) (texts []string) {
	for _, l := range letters {
		texts = append(texts, string(l.Payload))
	}
	return texts
}

func TestListingGoesFromTheNewestToTheOldestInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, _, _ := bury(t, &broken, 1, 2, 3, 4)
		i := inspect(t, path)
		for name, test := range map[string]struct {
			page dlq.Page
			want []string
		}{
			"all of them":    {dlq.Page{}, []string{`{"number":4}`, `{"number":3}`, `{"number":2}`, `{"number":1}`}},
			"the first page": {dlq.Page{Limit: 3}, []string{`{"number":4}`, `{"number":3}`, `{"number":2}`}},
			"the last page":  {dlq.Page{Offset: 3, Limit: 3}, []string{`{"number":1}`}},
			"past the end":   {dlq.Page{Offset: 4}, nil},
		} {
			letters, err := i.List(t.Context(), test.page)
			must(t, err)
			if got := payloads(letters); !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
		}
		if n, err := i.Count(t.Context()); n != 4 || err != nil {
			t.Errorf("counted %d, %v; want 4", n, err)
		}
		if _, err := i.List(t.Context(), dlq.Page{Offset: -1}); err == nil {
			t.Error("a negative offset was accepted")
		}
	})
}

func TestAPageHoldsAHundredUnlessToldOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, _, bus := bury(t, &broken)
		_, err := runtime.PublishBatch(t.Context(), bus, jobType, make([]job, 105))
		must(t, err)
		must(t, bus.WaitIdle(t.Context()))
		letters, err := inspect(t, path).List(t.Context(), dlq.Page{})
		must(t, err)
		if len(letters) != dlq.DefaultLimit || dlq.DefaultLimit != 100 {
			t.Errorf("a page holds %d", len(letters))
		}
	})
}

func TestALetterHoldsEverythingThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var broken atomic.Bool
		path, _, _ := bury(t, &broken, 7)
		i := inspect(t, path)
		letters, err := i.List(t.Context(), dlq.Page{})
		must(t, err)
		letter, err := i.Get(t.Context(), letters[0].Key)
		must(t, err)
		if letter.Type != "job.queued" || letter.Subscription != "worker" || letter.Reason != "max_attempts" ||
			string(letter.Metadata) != `{"n":"7"}` || !letter.PublishedAt.Equal(began) || letter.DeadAt.Sub(began).Round(time.Second/10) != time.Second {
			t.Errorf("the letter is %+v", letter)
		}
		if got := letter.LastError(); got != "job 7, attempt 2" {
			t.Errorf("the last error is %q", got)
		}
		if len(letter.Attempts) != 2 || letter.Attempts[0].Error != "job 7, attempt 1" || !letter.Attempts[0].Started.Equal(began) {
			t.Errorf("the attempts are %+v", letter.Attempts)
		}
	})
}

func TestARetriedLetterIsHandledWithAFreshCountAndKeepsItsHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, handled, bus := bury(t, &broken, 1, 2)
		i := inspect(t, path)
		letters, err := i.List(t.Context(), dlq.Page{})
		must(t, err)

		// Still broken: it dies again, after as many attempts.
		must(t, i.Retry(t.Context(), letters[0].Key))
		time.Sleep(time.Minute)
		must(t, bus.WaitIdle(t.Context()))
		letter, err := i.Get(t.Context(), letters[0].Key)
		must(t, err)
		if len(letter.Attempts) != 4 || letter.Attempts[2].Error != "job 2, attempt 1" {
			t.Errorf("after a retry in vain the attempts are %+v, want the two old ones and two new ones", letter.Attempts)
		}

		broken.Store(false)
		must(t, i.Retry(t.Context(), letters[0].Key))
		time.Sleep(time.Minute)
		if !slices.Equal(handled.all(), []int{2}) {
			t.Errorf("handled %v, want 2", handled.all())
		}
		var missing *dlq.NotFoundError
		if err := i.Retry(t.Context(), letters[0].Key); !errors.As(err, &missing) || missing.Key != letters[0].Key {
			t.Errorf("retrying it again: %v, want NotFoundError", err)
		}
		if _, err := i.Get(t.Context(), letters[0].Key); !errors.As(err, &missing) {
			t.Errorf("getting it: %v, want NotFoundError", err)
		}
		if n, err := i.Count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d letters are left (%v), want 1", n, err)
		}
	})
}

func TestALetterRetriedWithoutABusIsHandledAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, handled, bus := bury(t, &broken, 1)
		must(t, bus.Shutdown(t.Context()))
		i := inspect(t, path)
		letters, err := i.List(t.Context(), dlq.Page{})
		must(t, err)
		must(t, i.Retry(t.Context(), letters[0].Key))

		bus, err = runtime.Open(t.Context(), path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		defer bus.Shutdown(context.Background())
		_, err = runtime.Subscribe(bus, jobType, "worker", func(_ context.Context, e runtime.Event[job]) error {
			handled.add(e.Payload.Number)
			return nil
		})
		must(t, err)
		must(t, bus.Start(t.Context()))
		must(t, bus.WaitIdle(t.Context()))
		if !slices.Equal(handled.all(), []int{1}) {
			t.Errorf("handled %v, want 1", handled.all())
		}
	})
}

func TestPurgingDeletesWhatDiedAtTheCutoffOrBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, _, _ := bury(t, &broken, 1, 2, 3)
		i := inspect(t, path)
		letters, err := i.List(t.Context(), dlq.Page{})
		must(t, err)
		n, err := i.Purge(t.Context(), letters[1].DeadAt)
		must(t, err)
		left, err := i.List(t.Context(), dlq.Page{})
		must(t, err)
		if n != 2 || !slices.Equal(payloads(left), []string{`{"number":3}`}) {
			t.Errorf("purged %d and left %v, want 2 and job 3", n, payloads(left))
		}
	})
}

func TestPurgingWorksThroughManyLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, _, bus := bury(t, &broken)
		_, err := runtime.PublishBatch(t.Context(), bus, jobType, make([]job, 1200))
		must(t, err)
		must(t, bus.WaitIdle(t.Context()))
		n, err := inspect(t, path).Purge(t.Context(), time.Now())
		if n != 1200 || err != nil {
			t.Errorf("purged %d (%v), want 1200", n, err)
		}
	})
}

func TestAnInspectorNeedsAnEventLog(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("not a database, ", 100)), 0o600))
	empty := filepath.Join(folder, "empty")
	must(t, os.WriteFile(empty, nil, 0o600))
	for name, path := range map[string]string{"a file that does not exist": filepath.Join(folder, "none"), "a text file": text, "an empty file": empty} {
		_, err := dlq.Open(path)
		var storage *runtime.StorageError
		if !errors.As(err, &storage) || storage.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none")); err == nil {
		t.Error("looking for a file has created it")
	}
}

func TestAClosedInspectorSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, _, _ := bury(t, &broken)
		i := inspect(t, path)
		must(t, i.Close())
		must(t, i.Close())
		if _, err := i.Count(t.Context()); !errors.Is(err, dlq.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestACancelledContextEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		path, _, _ := bury(t, &broken, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		i := inspect(t, path)
		if _, err := i.Purge(ctx, time.Now()); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if n, err := i.Count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d letters are left (%v), want 1", n, err)
		}
	})
}

func TestAKeyIsReadAsItIsPrinted(t *testing.T) {
	key := dlq.Key{EventID: uuid.Must(uuid.NewV7()), Subscription: "billing/eu west"}
	if got, err := dlq.ParseKey(key.String()); got != key || err != nil {
		t.Errorf("ParseKey(%s) = %v, %v", key, got, err)
	}
	for _, text := range []string{"", "x", "x/y", key.EventID.String(), key.EventID.String() + "/"} {
		if _, err := dlq.ParseKey(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("ParseKey(%q) returned %v", text, err)
		}
	}
}
