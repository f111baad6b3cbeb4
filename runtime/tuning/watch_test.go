package tuning_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/tuning"
)

func subscribe(f *fixture, name string, opts ...runtime.SubscribeOption) {
	f.Helper()
	_, err := events.SubscribeUserRegistered(f.bus, name, func(context.Context, runtime.Event[events.UserRegistered]) error { return nil }, opts...)
	f.must(err)
}

func (f *fixture) watch(opts ...tuning.Option) *tuning.Watcher {
	f.Helper()
	w, err := tuning.Watch(f.Context(), f.bus, f.path, append(opts, tuning.Logger(f.log.logger()))...)
	f.must(err)
	f.Cleanup(w.Close)
	return w
}

// wantLog compares what was logged since the last call.
func (f *fixture) wantLog(want ...string) {
	f.Helper()
	got := f.log.take()
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], filepath.Dir(f.path)+string(filepath.Separator), "")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("logged (-want +got):\n%s", diff)
	}
}

func TestAChangeOfTheFileIsAppliedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.edit("jitter: 0.2 ", "jitter: 0 ", defaultDelay, "base_delay: 10s")
		w := f.watch()
		times := f.failing()
		f.wantLog("INFO order.placed charge-card send-receipt print-gift-card order.shipped parcel.pickup_requested order.backordered fulfil parcel.scanned order.cancelled " +
			"payment.captured keep-books payment.declined payment.refunded write-credit-note send-credit-note user.registered user.email_changed user.deletion_requested " +
			"ml.run.started ml.run.finished ml.run.failed ml.trial.started ml.trial.finished " +
			"ui.command.cart_changed ui.command.checkout_submitted report.requested write-report report.written system.backup_finished system.disk_filled")

		time.Sleep(time.Second)
		f.edit("jitter: 0.2 ", "jitter: 0 ", defaultDelay, "base_delay: 1m")
		time.Sleep(1200 * time.Millisecond)
		if len(w.Report().Tuned) == 0 {
			t.Error("the report is empty")
		}
		f.must(f.bus.WaitIdle(t.Context()))
		want := []time.Duration{0, 10 * time.Second, 130 * time.Second}
		if diff := cmp.Diff(want, times()); diff != "" {
			t.Errorf("executions (-want +got):\n%s", diff)
		}
	})
}

func TestAMistakeIsLoggedOnceAndTheLastGoodSettingsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.edit("max_snoozes: 5", "max_snoozes: 6")
		f.watch()
		f.wantLog("INFO charge-card")

		f.edit("max_snoozes: 5", "max_snoozes: seldom")
		time.Sleep(time.Hour)
		f.wantLog("ERROR " + filepath.Base(f.at("seldom")) + ` max_snoozes of subscription charge-card of event order.placed is "seldom", which is not allowed; write off or a whole number unknown-value`)

		f.edit("max_snoozes: 5", "max_snoozes: [")
		time.Sleep(time.Hour)
		if lines := f.log.take(); len(lines) != 1 || !strings.Contains(lines[0], "yaml-syntax") {
			t.Errorf("logged %q", lines)
		}

		f.edit("max_snoozes: 5", "max_snoozes: 6") // what is in force
		time.Sleep(time.Hour)
		f.wantLog()

		f.edit("max_snoozes: 5", "max_snoozes: 7")
		time.Sleep(2 * time.Second)
		f.wantLog("INFO charge-card")
	})
}

func TestADifferenceThatNeedsABuildIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const old, replacement = "  order.shipped:\n", "  order.sent: {}\n  order.shipped:\n"
		f.edit(old, replacement)
		f.watch()
		f.wantLog("WARN " + filepath.Base(f.at("order.sent")) + ": event type order.sent is new")
		f.edit(old, replacement, "max_snoozes: 5", "max_snoozes: 6")
		time.Sleep(2 * time.Second)
		f.wantLog("INFO charge-card")
	})
}

func TestSettingsThatTheBusRefusesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.watch()
		subscribe(f, "patient", runtime.WithRetry(retry.BaseDelay(4*time.Minute)))
		f.edit("max_delay: 5m ", "max_delay: 1m ")
		time.Sleep(time.Hour)
		if lines := f.log.take(); len(lines) != 1 || !strings.HasPrefix(lines[0], "ERROR") || !strings.Contains(lines[0], "patient") {
			t.Errorf("logged %q", lines)
		}
	})
}

// A file may be replaced in many ways.
func TestEveryWayOfReplacingTheFileIsNoticed(t *testing.T) {
	for name, replace := range map[string]func(f *fixture, content []byte){
		"it is renamed into place": func(f *fixture, content []byte) {
			f.must(os.WriteFile(f.path+".new", content, 0o666))
			f.must(os.Rename(f.path+".new", f.path))
		},
		"it is moved away, and written a moment later": func(f *fixture, content []byte) {
			f.must(os.Rename(f.path, f.path+"~"))
			time.Sleep(550 * time.Millisecond) // somebody looks meanwhile
			f.must(os.WriteFile(f.path, content, 0o666))
		},
		"it has the same size and time as before": func(f *fixture, content []byte) {
			info, err := os.Stat(f.path)
			f.must(err)
			f.must(os.WriteFile(f.path, content, 0o666))
			f.must(os.Chtimes(f.path, info.ModTime(), info.ModTime()))
		},
		"it is a link to a link, one of which leads elsewhere": func(f *fixture, content []byte) {
			dir := filepath.Dir(f.path)
			f.must(os.Mkdir(filepath.Join(dir, "v2"), 0o777))
			f.must(os.WriteFile(filepath.Join(dir, "v2", "events.yaml"), content, 0o666))
			f.must(os.Symlink("v2", filepath.Join(dir, "data.new")))
			f.must(os.Rename(filepath.Join(dir, "data.new"), filepath.Join(dir, "data")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				if strings.Contains(name, "link") { // as Kubernetes mounts a ConfigMap
					dir := filepath.Dir(f.path)
					f.must(os.Mkdir(filepath.Join(dir, "v1"), 0o777))
					f.must(os.Rename(f.path, filepath.Join(dir, "v1", "events.yaml")))
					f.must(os.Symlink("v1", filepath.Join(dir, "data")))
					f.must(os.Symlink(filepath.Join("data", "events.yaml"), f.path))
				}
				f.watch()
				f.wantLog()
				time.Sleep(time.Minute + 500*time.Millisecond) // between two looks
				replace(f, edited(t, "max_snoozes: 5", "max_snoozes: 6"))
				time.Sleep(1200 * time.Millisecond)
				f.wantLog("INFO charge-card")
			})
		})
	}
}

func TestAFileThatIsBeingWrittenIsNotApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var mu sync.Mutex
		var notes []string
		f.watch(tuning.Notify(func(report tuning.Report, err error) {
			mu.Lock()
			defer mu.Unlock()
			note := strings.Join(report.Tuned, " ")
			if err != nil {
				note = err.Error()
			}
			notes = append(notes, note)
		}))
		whole := edited(t, "max_snoozes: 5", "max_snoozes: 6")
		for n := 0; n < len(whole); n += 1000 { // the first pieces would have findings, the later ones lack events
			f.must(os.WriteFile(f.path, whole[:n], 0o666))
			time.Sleep(90 * time.Millisecond)
		}
		f.must(os.WriteFile(f.path, whole, 0o666))
		time.Sleep(1200 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"", "charge-card"}, notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
	})
}

func TestAPanicOfNotifyDoesNotStopTheWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.watch(tuning.Notify(func(tuning.Report, error) { panic("boom") }))
		f.wantLog("ERROR")
		f.edit("max_snoozes: 5", "max_snoozes: 6")
		time.Sleep(2 * time.Second)
		f.wantLog("INFO charge-card", "ERROR")
	})
}

func TestAMissingFileIsLoggedOnceAndAppliedWhenItAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.must(os.Remove(f.path))
		var failures []error
		f.watch(tuning.Notify(func(_ tuning.Report, err error) {
			if err != nil {
				failures = append(failures, err)
			}
		}))
		f.wantLog("ERROR stat events.yaml: no such file or directory") // at once
		time.Sleep(time.Hour)
		f.wantLog()
		if len(failures) != 1 || !errors.Is(failures[0], fs.ErrNotExist) {
			t.Errorf("notified of %v", failures)
		}
		f.edit("max_snoozes: 5", "max_snoozes: 6")
		time.Sleep(2 * time.Second)
		f.wantLog("INFO charge-card")

		f.must(os.Remove(f.path))
		time.Sleep(time.Hour)
		f.wantLog("ERROR stat events.yaml: no such file or directory")
		f.edit("max_snoozes: 5", "max_snoozes: 6")
		time.Sleep(time.Hour)
		f.wantLog() // the same as before it was gone
	})
}

func TestNothingIsAppliedOnceTheWatcherIsClosed(t *testing.T) {
	for name, end := range map[string]func(w *tuning.Watcher, cancel func()){
		"it is closed":     func(w *tuning.Watcher, _ func()) { w.Close(); w.Close() },
		"its context ends": func(_ *tuning.Watcher, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w, err := tuning.Watch(ctx, f.bus, f.path, tuning.Logger(f.log.logger()))
				f.must(err)
				end(w, cancel)
				synctest.Wait()
				f.edit("max_snoozes: 5", "max_snoozes: 6")
				time.Sleep(time.Hour)
				f.wantLog()
				w.Close()
			})
		})
	}
}

func TestEverySetsHowOftenTheFileIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.watch(tuning.Every(time.Minute))
		f.edit("max_snoozes: 5", "max_snoozes: 6")
		time.Sleep(time.Minute - 1)
		f.wantLog()
		time.Sleep(6*time.Second + 2)
		f.wantLog("INFO charge-card")
	})
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	f := newFixture(t)
	for name, opt := range map[string]tuning.Option{
		"Every":  tuning.Every(0),
		"Logger": tuning.Logger(nil),
		"Notify": tuning.Notify(nil),
	} {
		if w, err := tuning.Watch(t.Context(), f.bus, f.path, opt); w != nil || err == nil || !strings.Contains(err.Error(), "tuning."+name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestIncludedFilesAreWatchedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		team := func(name, policy string) {
			f.must(os.WriteFile(filepath.Join(filepath.Dir(f.path), name), []byte("version: 1\npolicies: { "+policy+" }\n"), 0o666))
			time.Sleep(2 * time.Second)
		}
		team("team1.yaml", "ml.trial.started: { max_snoozes: 9 }")
		f.edit("package: events   #", "include: [\"team*.yaml\"]\npackage: events   #")
		f.watch()
		f.wantLog("INFO ml.trial.started")

		team("team1.yaml", "ml.trial.finished: { max_snoozes: 9 }")
		f.wantLog("INFO ml.trial.started ml.trial.finished")
		team("team2.yaml", "system.disk_filled: { max_snoozes: 9 }")
		f.wantLog("INFO system.disk_filled")
		team("team2.yaml", "system.disk_filled: { max_snoozes: 0 }")
		f.wantLog("ERROR team2.yaml:2:48 max_snoozes of policy system.disk_filled is 0; it is off or counts snoozes of one event and must be between 1 and 1000000 out-of-range")
		f.must(os.Remove(filepath.Join(filepath.Dir(f.path), "team2.yaml")))
		time.Sleep(2 * time.Second)
		f.wantLog("INFO system.disk_filled")
	})
}
