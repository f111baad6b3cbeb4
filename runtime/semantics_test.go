package runtime_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/admin"
	"github.com/busgen/busgen/runtime/retry"
)

// docs/semantics.md names a test for each of its rules. Here is the test of
// that, and those of rules that need no other place.

func TestEveryRuleOfTheSemanticsNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "semantics.md"))
	must(t, err)
	rules, _, found := strings.Cut(string(page), "\n## What is not promised\n")
	if !found {
		t.Fatal("the page has no section on what is not promised")
	}
	exist := testNames(t, "..")
	named := regexp.MustCompile("`(Test[A-Za-z0-9]*)`")
	items := strings.Split(rules, "\n* ")[1:]
	for _, item := range items {
		title, _, _ := strings.Cut(item, "\n")
		names := named.FindAllStringSubmatch(item, -1)
		if names == nil {
			t.Errorf("no test is named for %q", title)
		}
		for _, name := range names {
			if !exist[name[1]] {
				t.Errorf("%s, named for %q, does not exist", name[1], title)
			}
		}
	}
	if len(items) < 40 {
		t.Errorf("only %d rules were found: is their form another one?", len(items))
	}
}

// testNames returns the tests in all the packages below root.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w*)\(`)
	names := map[string]bool{}
	must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range declared.FindAllSubmatch(source, -1) {
			names[string(match[1])] = true
		}
		return err
	}))
	return names
}

func TestACancelledPublishIsStoredExactlyIfItReturnsNil(t *testing.T) {
	f := open(t)
	var mu sync.Mutex
	stored, refused := map[uuid.UUID]bool{}, 0
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for n := range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				go func() { // somewhere between before and after
					for range n {
						goruntime.Gosched()
					}
					cancel()
				}()
				receipt, err := runtime.Publish(ctx, f.Bus, placedType, orderPlaced{Number: n})
				cancel()
				mu.Lock()
				switch {
				case err == nil:
					stored[receipt.ID] = true
				case errors.Is(err, context.Canceled):
					refused++
				default:
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	t.Logf("%d were stored and %d withdrawn", len(stored), refused)
	for _, e := range f.peek().events() {
		if !stored[e.ID] {
			t.Errorf("event %s is stored, and its publisher was told that it is not", e.ID)
		}
		delete(stored, e.ID)
	}
	if len(stored) > 0 {
		t.Errorf("%d events are not stored, and their publishers were told that they are", len(stored))
	}
}

func TestEverySubscriptionHasAPayloadOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[string]
		for _, name := range []string{"a", "b"} {
			_, err := runtime.SubscribePattern(f.Bus, "*", name, func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				seen.add(string(e.Payload))
				clear(e.Payload)
				if e.Attempt == 1 {
					return errBoom
				}
				return nil
			})
			must(t, err)
		}
		f.start()
		f.publish(1)
		f.idle()
		if len(seen.all()) != 4 {
			t.Errorf("%d executions, want 4", len(seen.all()))
		}
		for _, payload := range seen.all() {
			if payload != `{"order_id":"A","number":1,"weight":0}` {
				t.Errorf("a handler saw what another had done to the payload: %q", payload)
			}
		}
	})
}

func TestADeclaredSubscriptionGetsEventsFromBeforeItWasMade(t *testing.T) {
	invited := runtime.Define(runtime.Spec[userCreated]{
		Name: "user.invited", Settings: within(time.Second, exact()),
		Subscriptions: []runtime.DeclaredSubscription{{Name: "welcome", Settings: within(time.Second, exact(retry.MaxAttempts(2)))}},
	})
	synctest.Test(t, func(t *testing.T) {
		bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"),
			runtime.NewCatalogue(invited), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		defer bus.Shutdown(context.Background())
		_, err = runtime.Publish(t.Context(), bus, invited, userCreated{Name: "Ada"})
		must(t, err)
		var seen journal[string]
		_, err = runtime.Subscribe(bus, invited, "welcome", func(_ context.Context, e runtime.Event[userCreated]) error {
			seen.add(e.Payload.Name)
			if e.MaxAttempts != 2 {
				t.Errorf("%d attempts are allowed, want the 2 that are declared", e.MaxAttempts)
			}
			return nil
		})
		must(t, err)
		must(t, bus.Start(t.Context()))
		must(t, bus.WaitIdle(t.Context()))
		if got := seen.all(); len(got) != 1 || got[0] != "Ada" {
			t.Errorf("saw %v, want Ada", got)
		}
	})
}

func TestAHandlerThatSucceedsAlthoughItIsInterruptedHasSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("reader", func(ctx context.Context, _ runtime.Event[orderPlaced]) error {
			<-ctx.Done()
			return nil
		}, runtime.WithTimeout(time.Hour))
		f.start()
		f.publish(1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the shutdown returned %v", err)
		}
		if got := f.peek().statuses(); !slices.Equal(got, []string{admin.Done}) {
			t.Errorf("the event is %s, want done", got)
		}
	})
}

func TestTheEndOfTheContextOfStartEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[error]
		f.handle("reader", func(ctx context.Context, _ runtime.Event[orderPlaced]) error {
			time.Sleep(time.Second)
			seen.add(ctx.Err())
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		must(t, f.Start(ctx))
		f.publish(1)
		synctest.Wait()
		cancel()
		f.publish(2)
		f.idle()
		if got := seen.all(); len(got) != 2 || got[0] != nil || got[1] != nil {
			t.Errorf("the handlers saw %v, want nil twice", got)
		}
	})
}

func TestWhatAHandlerPublishesElsewhereIsNotPartOfItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, other := open(t), open(t)
		f.handle("failing", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			if _, err := runtime.Publish(context.WithoutCancel(t.Context()), f.Bus, paidType, orderPaid{}); err != nil {
				t.Error(err)
			}
			if _, err := runtime.Publish(ctx, other.Bus, paidType, orderPaid{}); err != nil {
				t.Error(err)
			}
			if n := len(f.peek().events("order.paid")); n != 1 {
				t.Errorf("%d events are stored while the handler runs, want 1", n)
			}
			return errBoom
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.start()
		f.publish(1)
		f.idle()
		for name, bus := range map[string]*fixture{"the bus of the handler": f, "another bus": other} {
			if n := len(bus.peek().events("order.paid")); n != 1 {
				t.Errorf("%s has %d events, want 1", name, n)
			}
		}
	})
}
