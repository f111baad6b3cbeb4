package inspection

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// Notice is how long a running bus may take to see what was changed, and a
// moment for it to be done.
const Notice = 201 * time.Millisecond

func (env *Env) TestARunningBusNoticesThatASubscriptionIsPausedAndResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var printer, ledger Handled
		f.Subscribe("printer", printer.Handle)
		f.Subscribe("ledger", ledger.Handle)
		f.MustStart()
		f.Publish(1)
		Must(t, f.File.PauseSubscription(t.Context(), "printer", ""))
		time.Sleep(Notice)
		f.Publish(2, 3)
		if !slices.Equal(printer.All(), []int{1}) || !slices.Equal(ledger.All(), []int{1, 2, 3}) {
			t.Errorf("while it was paused the printer had %v, the ledger %v", printer.All(), ledger.All())
		}
		subscriptions, err := f.File.Subscriptions(t.Context())
		Must(t, err)
		if s := subscriptions[0]; !s.Paused || s.Backlog != 2 || subscriptions[1].Paused {
			t.Errorf("the subscriptions are %+v", subscriptions)
		}
		Must(t, f.File.ResumeSubscription(t.Context(), "printer"))
		time.Sleep(Notice)
		if !slices.Equal(printer.All(), []int{1, 2, 3}) {
			t.Errorf("after the pause the printer had %v", printer.All())
		}
	})
}

func (env *Env) TestABusyBusNoticesAPauseAsSoonAsAnIdleOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var printer Handled
		f.Subscribe("printer", printer.Handle)
		f.MustStart()
		for d := 10 * time.Millisecond; d < Notice; d += 20 * time.Millisecond {
			before := len(printer.All())
			Must(t, f.File.PauseSubscription(t.Context(), "printer", ""))
			time.Sleep(d)
			_, err := runtime.Publish(t.Context(), f.Bus, UserType, User{Name: "Ada"})
			Must(t, err)
			time.Sleep(Notice - d)
			f.Publish(1)
			if len(printer.All()) != before {
				t.Errorf("with something to do %v after the pause, it was not noticed in time", d)
			}
			Must(t, f.File.ResumeSubscription(t.Context(), "printer"))
			time.Sleep(time.Second + d/3)
		}
	})
}

func (env *Env) TestARunningBusNoticesThatTypesArePausedAndResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var printer Handled
		f.Subscribe("printer", printer.Handle)
		f.MustStart()
		Must(t, f.File.PauseTypes(t.Context(), "order.*", ""))
		time.Sleep(Notice)
		f.Publish(1)
		if len(printer.All()) != 0 {
			t.Errorf("while its type was paused %v was handled", printer.All())
		}
		Must(t, f.File.ResumeTypes(t.Context(), "order.*"))
		time.Sleep(Notice)
		if !slices.Equal(printer.All(), []int{1}) {
			t.Errorf("after the pause the printer had %v", printer.All())
		}
	})
}

func (env *Env) TestAPauseIsThereAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("printer", Fine)
		Must(t, f.File.PauseSubscription(t.Context(), "printer", ""))
		f.Stop()
		f = env.Reopen(t, f.Path)
		var printer Handled
		f.Subscribe("printer", printer.Handle)
		f.MustStart()
		f.Publish(1)
		if len(printer.All()) != 0 {
			t.Error("the pause did not outlive the bus")
		}
	})
}

func (env *Env) TestSteeringAnUnknownNameListsTheKnownOnes(t *testing.T) {
	f := env.Open(t)
	f.Subscribe("printer", Fine)
	Must(t, f.File.PauseTypes(t.Context(), "user.*", ""))
	for want, err := range map[string]error{
		"there is no subscription pinter in this bus: it has printer":               f.File.PauseSubscription(t.Context(), "pinter", ""),
		"there is no pause of subscription printer in this bus: it has type user.*": f.File.ResumeSubscription(t.Context(), "printer"),
		"there is no pause of type order.* in this bus: it has type user.*":         f.File.ResumeTypes(t.Context(), "order.*"),
		"there is no subscription x in this bus: it has printer":                    last(f.File.RemoveSubscription(t.Context(), "x")),
	} {
		var missing *event.NotFoundError
		if !errors.As(err, &missing) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if err := f.File.PauseTypes(t.Context(), "order.pla*", ""); err == nil || !strings.Contains(err.Error(), "must be a whole segment") {
		t.Errorf("a broken glob: %v", err)
	}
	Must(t, f.File.PauseTypes(t.Context(), "user.*", "")) // again
}

func last[T any](_ T, err error) error { return err }

func (env *Env) TestRemovingASubscriptionDeletesAllItsDataAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("printer", Fail)
		f.Subscribe("old", func(number, _ int) error {
			switch number {
			case 1:
				return ErrBroken
			case 2:
				return runtime.Snooze(time.Hour)
			}
			return runtime.Discard("why not")
		})
		f.MustStart()
		f.Publish(1, 2, 3)

		var owned *event.OwnedError
		if _, err := f.File.RemoveSubscription(t.Context(), "old"); !errors.As(err, &owned) || owned.PID == 0 {
			t.Fatalf("while a bus dispatches: %v, want OwnedError", err)
		}
		f.Stop()
		Must(t, f.File.PauseSubscription(t.Context(), "old", ""))
		removed, err := f.File.RemoveSubscription(t.Context(), "old")
		Must(t, err)
		if removed != (event.Removed{Open: 1, Dead: 1}) {
			t.Errorf("removed %+v, want one open and one dead", removed)
		}
		status, err := f.File.Status(t.Context())
		Must(t, err)
		if len(status.Subscriptions) != 1 || status.Subscriptions[0].Name != "printer" || status.DeadLetters != 3 || len(status.Pauses) != 0 || status.Events != 3 {
			t.Errorf("what is left is %+v", status)
		}
		report, err := f.File.Check(t.Context(), nil)
		if err != nil || !report.OK() {
			t.Errorf("the file is not sound any more: %+v, %v", report, err)
		}

		// The name begins anew, at the end of the log.
		f = env.Reopen(t, f.Path)
		var old Handled
		f.Subscribe("old", old.Handle)
		f.MustStart()
		f.Publish(4)
		if !slices.Equal(old.All(), []int{4}) {
			t.Errorf("a new subscription of the name had %v, want 4", old.All())
		}
	})
}

func (env *Env) TestAFileThatIsOpenedForAnotherActorActsUnderThatName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("printer", Fine)
		grace, err := f.File.As(t.Context(), "grace")
		Must(t, err)
		defer grace.Close()
		Must(t, grace.PauseSubscription(t.Context(), "printer", ""))
		Must(t, grace.Close())
		time.Sleep(time.Second)
		Must(t, f.File.PauseTypes(t.Context(), "order.*", "")) // which is still open
		status, err := f.File.Status(t.Context())
		Must(t, err)
		if p := status.Pauses; len(p) != 2 || p[0].Actor != "grace" || p[1].Actor != "ada" {
			t.Errorf("want pauses of grace and ada: %+v", p)
		}
		if _, err := f.File.As(t.Context(), ""); err == nil {
			t.Error("a file without an actor is open")
		}
	})
}
