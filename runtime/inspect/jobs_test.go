package inspect_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// The catalogue of the tests, written the way busgen writes it.

type job struct {
	Number int     `json:"number"`
	Note   *string `json:"note,omitzero"`
}

func (j job) Validate() error {
	if j.Number < 0 {
		return &runtime.ValidationError{Problems: []runtime.Problem{{Path: "number", Message: "is negative"}}}
	}
	return nil
}

var (
	jobType      = runtime.Define(runtime.Spec[job]{Name: "job.queued", Settings: jobSettings()})
	taskType     = runtime.Define(runtime.Spec[job]{Name: "task.queued", Settings: jobSettings()})
	jobCatalogue = runtime.NewCatalogue(jobType, taskType)
)

// settings are two attempts, a second apart.
func jobSettings() runtime.Settings {
	s := runtime.DefaultSettings()
	s.Retry, s.Timeout, s.Breaker.Off = s.Retry.With(retry.MaxAttempts(2), retry.Jitter(0)), time.Second, true
	return s
}

// jobBus is a bus with a handler named worker, on a file of its own.
type jobBus struct {
	*runtime.Bus
	t    *testing.T
	path string

	mu      sync.Mutex
	fail    func(number int) error // nil: nothing fails
	handled []int                  // numbers of jobs, in order
}

func openJobs(t *testing.T) *jobBus {
	t.Helper()
	f := &jobBus{t: t, path: filepath.Join(t.TempDir(), "events.db")}
	f.reopen()
	return f
}

// reopen starts a bus on the file.
func (f *jobBus) reopen() {
	f.t.Helper()
	bus, err := runtime.Open(f.t.Context(), f.path, jobCatalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(f.t, err)
	f.Bus = bus
	f.t.Cleanup(func() { bus.Shutdown(context.Background()) })
	_, err = runtime.SubscribePattern(bus, "*", "worker", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
		var number int
		if _, err := fmt.Sscanf(string(e.Payload), `{"number":%d`, &number); err != nil {
			return err
		}
		return f.handle(number)
	})
	must(f.t, err)
	must(f.t, bus.Start(f.t.Context()))
}

func (f *jobBus) handle(number int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(number); err != nil {
			return err
		}
	}
	f.handled = append(f.handled, number)
	return nil
}

// failing sets what handlers return from now on.
func (f *jobBus) failing(fail func(number int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *jobBus) repair() { f.failing(nil) }

// seen returns the numbers that were handled.
func (f *jobBus) seen() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.handled)
}

func (f *jobBus) stop() { must(f.t, f.Shutdown(context.Background())) }

func (f *jobBus) idle() {
	f.t.Helper()
	must(f.t, f.WaitIdle(f.t.Context()))
}

// settle gives the bus the time to notice what an inspector has done.
func (f *jobBus) settle() {
	f.t.Helper()
	time.Sleep(time.Second)
	f.idle()
}

// broken is what a handler returns that does not work.
func broken(number int) error { return fmt.Errorf("job %d: out of order", number) }

// bury makes a dead letter per number, a minute apart.
func bury(t *testing.T, numbers ...int) *jobBus {
	t.Helper()
	f := openJobs(t)
	f.failing(broken)
	for _, n := range numbers {
		f.publish(n)
		time.Sleep(time.Minute)
	}
	return f
}

// buryMany makes dead letters with the numbers from 0 on, all at once.
func buryMany(t *testing.T, n int) *jobBus {
	t.Helper()
	f := openJobs(t)
	f.failing(broken)
	f.publish(numbers(0, n)...)
	return f
}

// publish publishes jobs in one transaction and waits for what becomes of them.
func (f *jobBus) publish(numbers ...int) []*runtime.Receipt {
	f.t.Helper()
	jobs := make([]job, len(numbers))
	for i, n := range numbers {
		jobs[i].Number = n
	}
	receipts, err := runtime.PublishBatch(f.t.Context(), f.Bus, jobType, jobs, runtime.WithMetadata(map[string]string{"from": "test"}))
	must(f.t, err)
	f.idle()
	return receipts
}

// inspect opens an inspector on the file.
func (f *jobBus) inspect(opts ...inspect.Option) *inspector {
	f.t.Helper()
	i, err := inspect.Open(f.t.Context(), f.path, append([]inspect.Option{inspect.WithActor("ada")}, opts...)...)
	must(f.t, err)
	f.t.Cleanup(func() { i.Close() })
	return &inspector{i, f.t}
}

// inspector is one whose errors end the test.
type inspector struct {
	*inspect.File
	t *testing.T
}

func (i *inspector) list(f inspect.Filter) []inspect.DeadLetter {
	i.t.Helper()
	letters, _, err := i.DeadLetters(i.t.Context(), f, inspect.Page{Limit: 100_000})
	must(i.t, err)
	return letters
}

// newest returns the letter that died last.
func (i *inspector) newest() inspect.DeadLetter {
	i.t.Helper()
	letters, _, err := i.DeadLetters(i.t.Context(), inspect.Filter{}, inspect.Page{Limit: 1})
	must(i.t, err)
	if len(letters) == 0 {
		i.t.Fatal("there are no dead letters")
	}
	return letters[0]
}

func (i *inspector) count() int {
	i.t.Helper()
	n, err := i.CountDeadLetters(i.t.Context(), inspect.Filter{})
	must(i.t, err)
	return n
}

// actions returns the audit, newest first, without its times.
func (i *inspector) actions() (texts []string) {
	i.t.Helper()
	entries, _, err := i.Audit(i.t.Context(), inspect.AuditFilter{}, inspect.Page{Limit: 100_000})
	must(i.t, err)
	for _, e := range entries {
		texts = append(texts, fmt.Sprintf("%s %s %d: %s", e.Actor, e.Action, e.Count, e.Detail))
	}
	return texts
}

// numbersOf returns the numbers of dead jobs, in their order.
func numbersOf(letters []inspect.DeadLetter) (numbers []int) {
	for _, l := range letters {
		var n int
		fmt.Sscanf(string(l.Payload), `{"number":%d`, &n)
		numbers = append(numbers, n)
	}
	return numbers
}

func numbers(from, to int) (n []int) {
	for i := from; i < to; i++ {
		n = append(n, i)
	}
	return n
}

// query returns the first row of the file, its columns separated by |.
func queryRow(t *testing.T, path, sql string) string {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	must(t, c.BusyTimeout(time.Second))
	s, _, err := c.Prepare(sql)
	must(t, err)
	defer s.Close()
	var columns []string
	if s.Step() {
		for i := range s.ColumnCount() {
			columns = append(columns, s.ColumnText(i))
		}
	}
	must(t, s.Err())
	return strings.Join(columns, "|")
}

// execute changes the file as another program would.
func execute(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	must(t, c.BusyTimeout(time.Second))
	must(t, c.Exec(sql))
}
