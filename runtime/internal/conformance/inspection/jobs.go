package inspection

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/gen/checks"
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
		return &runtime.ValidationError{Problems: []checks.Problem{{Path: "number", Message: "is negative"}}}
	}
	return nil
}

var (
	jobType      = runtime.Define(runtime.Spec[job]{Name: "job.queued", Settings: jobSettings()})
	taskType     = runtime.Define(runtime.Spec[job]{Name: "task.queued", Settings: jobSettings()})
	jobCatalogue = runtime.NewCatalogue(jobType, taskType)
)

// settings are two attempts, a second apart.
func jobSettings() declare.Settings {
	s := declare.DefaultSettings()
	s.Retry, s.Timeout, s.Breaker.Off = s.Retry.With(retry.MaxAttempts(2), retry.Jitter(0)), time.Second, true
	return s
}

// jobBus is a bus with a handler named worker, on a file of its own.
type jobBus struct {
	*runtime.Bus
	Env  *Env
	t    *testing.T
	Path string

	mu      sync.Mutex
	fail    func(number int) error // nil: nothing fails
	takes   func()                 // see Taking
	handled []int                  // numbers of jobs, in order
}

func (env *Env) OpenJobs(t *testing.T) *jobBus {
	t.Helper()
	f := &jobBus{Env: env, t: t, Path: env.Target(t)}
	f.Reopen()
	return f
}

// Reopen starts a bus on the file.
func (f *jobBus) Reopen() {
	f.t.Helper()
	bus, err := f.Env.OpenBus(f.t.Context(), f.Path, jobCatalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	Must(f.t, err)
	f.Bus = bus
	f.t.Cleanup(func() { bus.Shutdown(context.Background()) })
	_, err = runtime.SubscribePattern(bus, "*", "worker", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
		var number int
		if _, err := fmt.Sscanf(string(e.Payload), `{"number":%d`, &number); err != nil {
			return err
		}
		return f.handle(number)
	})
	Must(f.t, err)
	Must(f.t, bus.Start(f.t.Context()))
}

func (f *jobBus) handle(number int) error {
	f.mu.Lock()
	takes := f.takes
	f.mu.Unlock()
	if takes != nil {
		takes()
	}
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

// Failing sets what handlers return from now on.
func (f *jobBus) Failing(fail func(number int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// Taking makes handlers call something first, which may take its time.
func (f *jobBus) Taking(takes func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes = takes
}

func (f *jobBus) Repair() { f.Failing(nil) }

// Seen returns the numbers that were handled.
func (f *jobBus) Seen() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.handled)
}

func (f *jobBus) Stop() { Must(f.t, f.Shutdown(context.Background())) }

func (f *jobBus) Idle() {
	f.t.Helper()
	Must(f.t, f.WaitIdle(f.t.Context()))
}

// Settle gives the bus the time to notice what an inspector has done.
func (f *jobBus) Settle() {
	f.t.Helper()
	time.Sleep(time.Second)
	f.Idle()
}

// Broken returns the error of a handler that does not work.
func Broken(number int) error { return fmt.Errorf("job %d: out of order", number) }

// MakeDead makes a dead letter per number, a minute apart.
func (env *Env) MakeDead(t *testing.T, numbers ...int) *jobBus {
	t.Helper()
	f := env.OpenJobs(t)
	f.Failing(Broken)
	for _, n := range numbers {
		f.Publish(n)
		time.Sleep(time.Minute)
	}
	return f
}

// MakeManyDead makes dead letters with the numbers from 0 on, all at once.
func (env *Env) MakeManyDead(t *testing.T, n int) *jobBus {
	t.Helper()
	f := env.OpenJobs(t)
	f.Failing(Broken)
	f.Publish(Numbers(0, n)...)
	return f
}

// Publish publishes jobs in one transaction and waits until they are settled.
func (f *jobBus) Publish(numbers ...int) []*runtime.Receipt {
	f.t.Helper()
	jobs := make([]job, len(numbers))
	for i, n := range numbers {
		jobs[i].Number = n
	}
	receipts, err := runtime.PublishBatch(f.t.Context(), f.Bus, jobType, jobs, runtime.WithMetadata(map[string]string{"from": "test"}))
	Must(f.t, err)
	f.Idle()
	return receipts
}

// Inspect opens an inspector on the file.
func (f *jobBus) Inspect(opts ...inspect.Option) *Inspector {
	f.t.Helper()
	i, err := f.Env.OpenFile(f.t.Context(), f.Path, append([]inspect.Option{inspect.WithActor("ada")}, opts...)...)
	Must(f.t, err)
	f.t.Cleanup(func() { i.Close() })
	return &Inspector{i, f.t}
}

// Inspector is a File whose errors end the test.
type Inspector struct {
	*inspect.File
	t *testing.T
}

func (i *Inspector) List(f event.Filter) []event.DeadLetter {
	i.t.Helper()
	letters, _, err := i.DeadLetters(i.t.Context(), f, event.Page{Limit: 100_000})
	Must(i.t, err)
	return letters
}

// Newest returns the dead letter that died last.
func (i *Inspector) Newest() event.DeadLetter {
	i.t.Helper()
	letters, _, err := i.DeadLetters(i.t.Context(), event.Filter{}, event.Page{Limit: 1})
	Must(i.t, err)
	if len(letters) == 0 {
		i.t.Fatal("there are no dead letters")
	}
	return letters[0]
}

func (i *Inspector) Count() int {
	i.t.Helper()
	n, err := i.CountDeadLetters(i.t.Context(), event.Filter{})
	Must(i.t, err)
	return n
}

// Actions returns the audit, newest first, without its times.
func (i *Inspector) Actions() (texts []string) {
	i.t.Helper()
	entries, _, err := i.Audit(i.t.Context(), event.AuditFilter{}, event.Page{Limit: 100_000})
	Must(i.t, err)
	for _, e := range entries {
		texts = append(texts, fmt.Sprintf("%s %s %d: %s", e.Actor, e.Action, e.Count, e.Detail))
	}
	return texts
}

// NumbersOf returns the numbers of dead jobs, in their order.
func NumbersOf(letters []event.DeadLetter) (numbers []int) {
	for _, l := range letters {
		var n int
		fmt.Sscanf(string(l.Payload), `{"number":%d`, &n)
		numbers = append(numbers, n)
	}
	return numbers
}

func Numbers(from, to int) (n []int) {
	for i := from; i < to; i++ {
		n = append(n, i)
	}
	return n
}
