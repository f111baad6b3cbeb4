package tuning_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime/tuning"
)

// overlay writes a file that sets what differs.
func (f *fixture) overlay(name, text string) string {
	f.Helper()
	path := filepath.Join(filepath.Dir(f.path), name)
	f.must(os.WriteFile(path, []byte("version: 1\n"+text), 0o600))
	return path
}

func TestOverlaysAreAppliedInTheirOrder(t *testing.T) {
	f := newFixture(t)
	first := f.overlay("first.yaml", "limits: { bank: { at_once: 2 } }\nevents: { order.placed: { timeout: 1m, subscriptions: { charge-card: { concurrency: 8 } } } }\n")
	second := f.overlay("second.yaml", "events: { order.placed: { timeout: 2m } }\n")
	report, err := tuning.Apply(f.bus, f.path, first, second)
	f.must(err)
	want := tuning.Report{Tuned: []string{"limit bank", "order.placed", "charge-card", "send-receipt", "print-gift-card"}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = events.SubscribeOrderPlaced(f.bus, events.OnOrderPlacedChargeCard, nothing)
	f.must(err)
	if s := f.bus.Stats().Subscriptions[0]; s.Concurrency != 8 || s.Settings["order.placed"].Timeout != 2*time.Minute {
		t.Errorf("concurrency %d, timeout %v", s.Concurrency, s.Settings["order.placed"].Timeout)
	}
}

func TestAMistakeInAnOverlayChangesNothing(t *testing.T) {
	f := newFixture(t)
	typo := f.overlay("typo.yaml", "defaults: { timeout: 1m }\nevents: { order.plcaed: {} }\n")
	_, err := tuning.Apply(f.bus, f.path, typo)
	if err == nil || !strings.Contains(err.Error(), typo+":3:11: the catalogue has no event order.plcaed") {
		t.Errorf("got %v", err)
	}
	if _, err := tuning.Apply(f.bus, f.path, filepath.Join(t.TempDir(), "missing.yaml")); err == nil || !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := tuning.Watch(t.Context(), f.bus, f.path, tuning.Overlay("")); err == nil {
		t.Error("an empty path is taken")
	}
}

func TestTheBusIsTunedAgainWhenTheCatalogueOrAnOverlayChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		path := f.overlay("production.yaml", "defaults: { slow_after: 6s }\n")
		var tuned []string
		w, err := tuning.Watch(t.Context(), f.bus, f.path, tuning.Overlay(path), tuning.Notify(func(r tuning.Report, err error) {
			switch {
			case err != nil && len(err.Error()) > 0:
				tuned = append(tuned, "error")
			default:
				tuned = append(tuned, f.bus.Catalogue().Types()[0].Name()+" "+tunedNames(r))
			}
		}))
		f.must(err)
		defer w.Close()
		step := func(do func()) {
			do()
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		step(func() {})
		step(func() {
			f.overlay("production.yaml", "defaults: { slow_after: 5s }\nevents: { user.registered: { timeout: 9s } }\n")
		})
		step(func() { f.overlay("production.yaml", "evnts: {}\n") })
		step(func() { f.must(os.Remove(path)) })
		step(func() { f.overlay("production.yaml", "") })
		step(func() { f.edit("base_delay: 1m, max_delay: 12h", "max_delay: 12h") })
		want := []string{"order.placed many", "order.placed user.registered", "error", "error", "order.placed ", "order.placed user.deletion_requested"}
		if diff := cmp.Diff(want, tuned); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func tunedNames(r tuning.Report) string {
	if len(r.Tuned) > 3 {
		return "many"
	}
	return strings.Join(r.Tuned, " ")
}
