package systest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// lockOut takes the lock that every writer needs, as another process may.
func lockOut(t *testing.T, path string) (unlock func()) {
	t.Helper()
	c, err := sqlite3.Open(path)
	Must(t, err)
	Must(t, c.Exec("BEGIN IMMEDIATE"))
	return func() { Must(t, c.Close()) }
}

func TestAContextThatEndsWhileAnotherProcessHoldsTheLockEndsThePublish(t *testing.T) {
	for name, publishers := range map[string][]time.Duration{
		"one":                            {100 * time.Millisecond},
		"one after the other is refused": {100 * time.Millisecond, 0, 300 * time.Millisecond},
		"many":                           {100 * time.Millisecond, 200 * time.Millisecond, 150 * time.Millisecond, 0, 100 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := SQLite.Open(t)
				f.Publish(0)
				unlock := lockOut(t, f.Path)
				began := time.Now()
				done := make(chan string, len(publishers))
				for n, patience := range publishers {
					go func() {
						ctx, cancel := context.WithCancel(t.Context())
						if patience > 0 {
							ctx, cancel = context.WithTimeout(t.Context(), patience)
						}
						defer cancel()
						_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n + 1})
						took := time.Since(began)
						var storage *event.StorageError
						switch {
						case patience > 0 && (!errors.Is(err, context.DeadlineExceeded) || took != patience):
							t.Errorf("a publish with %v returned %v after %v", patience, err, took)
						case patience == 0 && (!errors.As(err, &storage) || storage.Fault != event.Busy || took < 5*time.Second):
							t.Errorf("a publish without a deadline returned %v after %v", err, took)
						}
						done <- ""
					}()
				}
				for range publishers {
					<-done
				}
				unlock()
				f.Publish(100)
				if got := queryFile(t, f.Path, "SELECT count(*) || ' ' || max(json_extract(payload, '$.number')) FROM events"); got != "2 100" {
					t.Errorf("stored are %s, want those that returned nil", got)
				}
			})
		})
	}
}

func TestWorkContinuesWhenAnotherProcessReleasesItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		unlock := lockOut(t, f.Path)
		time.AfterFunc(time.Second, unlock)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A"})
		if took := time.Since(began); err != nil || took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("publishing returned %v after %v", err, took)
		}
	})
}

// All other writes that take a context.
func TestAContextThatEndsWhileAnotherProcessHoldsTheLockEndsEverythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		f := SQLite.Reopen(t, path)
		for name, call := range map[string]func(ctx context.Context) error{
			"start": f.Start,
			"pause": func(ctx context.Context) error { return f.PauseTypes(ctx, "order.*", "") },
		} {
			unlock := lockOut(t, path)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			began := time.Now()
			err := call(ctx)
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 100*time.Millisecond {
				t.Errorf("%s returned %v after %v", name, err, took)
			}
			cancel()
			unlock()
			Must(t, call(t.Context()))
		}
	})
}

func TestAContextThatEndsWhileAnotherProcessHoldsTheLockEndsTheOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db") // whose schema is yet to be made
		unlock := lockOut(t, path)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := runtime.Open(ctx, path, Catalogue)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 150*time.Millisecond {
			t.Errorf("opening returned %v after %v", err, took)
		}
		unlock()
		SQLite.Reopen(t, path).Publish(1)
	})
}
