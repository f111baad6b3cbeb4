package inspect_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

// notice is how long a running bus may take to see what was changed, and a
// moment for it to be done.
const notice = 201 * time.Millisecond

func TestARunningBusNoticesThatASubscriptionIsPausedAndResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var printer, ledger handled
		f.subscribe("printer", printer.handle)
		f.subscribe("ledger", ledger.handle)
		f.start()
		f.publish(1)
		must(t, f.file.PauseSubscription(t.Context(), "printer", ""))
		time.Sleep(notice)
		f.publish(2, 3)
		if !slices.Equal(printer.all(), []int{1}) || !slices.Equal(ledger.all(), []int{1, 2, 3}) {
			t.Errorf("while it was paused the printer had %v, the ledger %v", printer.all(), ledger.all())
		}
		subscriptions, err := f.file.Subscriptions(t.Context())
		must(t, err)
		if s := subscriptions[0]; !s.Paused || s.Backlog != 2 || subscriptions[1].Paused {
			t.Errorf("the subscriptions are %+v", subscriptions)
		}
		must(t, f.file.ResumeSubscription(t.Context(), "printer"))
		time.Sleep(notice)
		if !slices.Equal(printer.all(), []int{1, 2, 3}) {
			t.Errorf("after the pause the printer had %v", printer.all())
		}
	})
}

func TestABusThatIsBusyMeanwhileNoticesNoLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var printer handled
		f.subscribe("printer", printer.handle)
		f.start()
		for d := 10 * time.Millisecond; d < notice; d += 20 * time.Millisecond {
			before := len(printer.all())
			must(t, f.file.PauseSubscription(t.Context(), "printer", ""))
			time.Sleep(d)
			_, err := runtime.Publish(t.Context(), f.Bus, userType, user{Name: "Ada"})
			must(t, err)
			time.Sleep(notice - d)
			f.publish(1)
			if len(printer.all()) != before {
				t.Errorf("with something to do %v after the pause, it was not noticed in time", d)
			}
			must(t, f.file.ResumeSubscription(t.Context(), "printer"))
			time.Sleep(time.Second + d/3)
		}
	})
}

func TestARunningBusNoticesThatTypesArePausedAndResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var printer handled
		f.subscribe("printer", printer.handle)
		f.start()
		must(t, f.file.PauseTypes(t.Context(), "order.*", ""))
		time.Sleep(notice)
		f.publish(1)
		if len(printer.all()) != 0 {
			t.Errorf("while its type was paused %v was handled", printer.all())
		}
		must(t, f.file.ResumeTypes(t.Context(), "order.*"))
		time.Sleep(notice)
		if !slices.Equal(printer.all(), []int{1}) {
			t.Errorf("after the pause the printer had %v", printer.all())
		}
	})
}

func TestAPauseIsThereAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.subscribe("printer", fine)
		must(t, f.file.PauseSubscription(t.Context(), "printer", ""))
		f.stop()
		f = reopen(t, f.path)
		var printer handled
		f.subscribe("printer", printer.handle)
		f.start()
		f.publish(1)
		if len(printer.all()) != 0 {
			t.Error("the pause did not outlive the bus")
		}
	})
}

func TestSteeringWhatIsNotThereNamesWhatIs(t *testing.T) {
	f := open(t)
	f.subscribe("printer", fine)
	must(t, f.file.PauseTypes(t.Context(), "user.*", ""))
	for want, err := range map[string]error{
		"there is no subscription pinter in this file: it has printer":               f.file.PauseSubscription(t.Context(), "pinter", ""),
		"there is no pause of subscription printer in this file: it has type user.*": f.file.ResumeSubscription(t.Context(), "printer"),
		"there is no pause of type order.* in this file: it has type user.*":         f.file.ResumeTypes(t.Context(), "order.*"),
		"there is no subscription x in this file: it has printer":                    last(f.file.RemoveSubscription(t.Context(), "x")),
	} {
		var missing *inspect.NotFoundError
		if !errors.As(err, &missing) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if err := f.file.PauseTypes(t.Context(), "order.pla*", ""); err == nil || !strings.Contains(err.Error(), "must be a whole segment") {
		t.Errorf("a broken glob: %v", err)
	}
	must(t, f.file.PauseTypes(t.Context(), "user.*", "")) // again
}

func last[T any](_ T, err error) error { return err }

func TestRemovingASubscriptionForgetsAllOfItAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.subscribe("printer", fail)
		f.subscribe("old", func(number, _ int) error {
			switch number {
			case 1:
				return errBroken
			case 2:
				return runtime.Snooze(time.Hour)
			}
			return runtime.Discard("why not")
		})
		f.start()
		f.publish(1, 2, 3)

		var owned *runtime.OwnedError
		if _, err := f.file.RemoveSubscription(t.Context(), "old"); !errors.As(err, &owned) || owned.PID == 0 {
			t.Fatalf("while a bus dispatches: %v, want OwnedError", err)
		}
		f.stop()
		must(t, f.file.PauseSubscription(t.Context(), "old", ""))
		removed, err := f.file.RemoveSubscription(t.Context(), "old")
		must(t, err)
		if removed != (inspect.Removed{Open: 1, Dead: 1}) {
			t.Errorf("removed %+v, want one open and one dead", removed)
		}
		status, err := f.file.Status(t.Context())
		must(t, err)
		if len(status.Subscriptions) != 1 || status.Subscriptions[0].Name != "printer" || status.DeadLetters != 3 || len(status.Pauses) != 0 || status.Events != 3 {
			t.Errorf("what is left is %+v", status)
		}
		report, err := f.file.Check(t.Context(), nil)
		if err != nil || !report.OK() {
			t.Errorf("the file is not sound any more: %+v, %v", report, err)
		}

		// The name begins anew, at the end of the log.
		f = reopen(t, f.path)
		var old handled
		f.subscribe("old", old.handle)
		f.start()
		f.publish(4)
		if !slices.Equal(old.all(), []int{4}) {
			t.Errorf("a new subscription of the name had %v, want 4", old.all())
		}
	})
}

func TestEveryChangeLeavesAnAuditRow(t *testing.T) {
	f := open(t)
	f.subscribe("printer", fine)
	must(t, f.file.PauseSubscription(t.Context(), "printer", ""))
	must(t, f.file.PauseSubscription(t.Context(), "printer", "")) // changes nothing
	must(t, f.file.ResumeSubscription(t.Context(), "printer"))
	must(t, f.file.PauseTypes(t.Context(), "order.*", ""))
	must(t, f.file.ResumeTypes(t.Context(), "order.*"))
	f.stop()
	_, err := f.file.RemoveSubscription(t.Context(), "printer")
	must(t, err)
	want := []string{
		"ada|pause|printer|0|", "ada|resume|printer|0|", "ada|pause||0|events of type order.*", "ada|resume||0|events of type order.*",
		"ada|remove|printer|0|0 events to settle and 0 dead letters",
	}
	if got := query(t, f.path, "SELECT actor, action, subscription, count, detail FROM audit ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestWithoutANameTheActorIsTheUser(t *testing.T) {
	f := open(t)
	file, err := inspect.Open(t.Context(), f.path)
	must(t, err)
	defer file.Close()
	must(t, file.PauseTypes(t.Context(), "order.*", ""))
	if got := query(t, f.path, "SELECT actor FROM audit"); len(got) != 1 || !strings.Contains(got[0], "@") {
		t.Errorf("the actor is %q, want user@host", got)
	}
}
