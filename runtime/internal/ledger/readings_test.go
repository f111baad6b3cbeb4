package ledger_test

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// Where the page can be read in several ways, and where engines have read it differently, a test here says which one holds.

var (
	alone  = ledger.Verdict{How: ledger.Alone}
	shared = ledger.Verdict{How: ledger.Shared, Together: 1}
	waited = ledger.Verdict{How: ledger.Waited}
)

// do applies inputs one after the other.
func do(r row, inputs ...step) row {
	for _, input := range inputs {
		r, _ = input(r)
	}
	return r
}

// Counts of a row that has failed twice, and was snoozed once.
func tried() row {
	return row{Delivery: counts{Failures: 2, Uncounted: 1}, Due: later, Set: at, Tries: 2}
}

func snooze(r row) (row, ledger.Effects) {
	return turn(engine.Disposition{Kind: engine.Snooze, Asked: true})(r)
}

func retry(r row) (row, ledger.Effects) {
	return turn(engine.Disposition{Kind: engine.Retry, Attempt: failed})(r)
}

// Suspicion and crashes.

func TestASnoozeOfAHandlerThatWasCalledEndsACrashWithTheSuspicion(t *testing.T) {
	r := do(row{}, crashed(shared, 0), crashed(alone, 0), snooze)
	if r.Crashed || r.Suspect() || !r.OpenCrash.IsZero() || r.Failures != 2 {
		t.Errorf("after the snooze: %+v", r)
	}
}

func TestASharedCrashFromBeforeARevivalNeverCounts(t *testing.T) {
	r := do(row{}, crashed(shared, 0), unbegun(engine.Disposition{Kind: engine.Dead, Reason: event.ReasonExpired}))
	r, e := do(r.Revive(true, at)).Crash(alone, 0, time.Time{}, at)
	if r.Failures != 1 || !e.Counted.IsZero() {
		t.Errorf("%d crashes count (%v), want the one since the retry", r.Failures, e.Counted)
	}
}

func TestASuspectThatDiedWithoutACallIsOneWhenItIsRetried(t *testing.T) {
	r := do(row{}, crashed(shared, 0), unbegun(engine.Disposition{Kind: engine.Dead, Reason: event.ReasonExpired})).Revive(true, at)
	if !r.Suspect() {
		t.Error("nobody has called its handler, and it would run beside others")
	}
}

func TestACrashEndsThePolicyForAClassOfErrors(t *testing.T) {
	r := do(row{}, turn(engine.Disposition{Kind: engine.Retry, Attempt: failed, MaxAttempts: 20}), crashed(alone, 0))
	if r.MaxAttempts != 0 {
		t.Errorf("it may be tried %d times, as its error before the crash says", r.MaxAttempts)
	}
}

func TestOfSharedCrashesOnlyTheFirstMayCount(t *testing.T) {
	r := row{}
	for range 50 {
		r = do(r, crashed(shared, 0))
	}
	if r = do(r, crashed(alone, 0)); r.Failures != 2 || r.Tries != 2 {
		t.Errorf("%d of 51 crashes count, want the last and the first", r.Failures)
	}
	if r.Number() != 52 {
		t.Errorf("the next attempt has number %d, want 52", r.Number())
	}
}

func TestACancelWithoutACallLeavesASuspectOne(t *testing.T) {
	r := do(row{}, crashed(shared, 0)).Cancel("why")
	r = do(r, unbegun(engine.Disposition{Kind: engine.Discard, Cancelled: true, Reason: "why"})).Restore(at)
	if !r.Suspect() {
		t.Error("nobody has called its handler, and it would run beside others")
	}
}

func TestALimitThatWasWaitedForInVainLeavesASuspectOne(t *testing.T) {
	r := do(row{}, crashed(alone, 0), turn(engine.Disposition{Kind: engine.Retry, Attempt: failed, NotCalled: true}))
	if !r.Suspect() {
		t.Error("nobody has called its handler, and it would run beside others")
	}
	if r.Crashed {
		t.Error("its last attempt that counts was no crash")
	}
}

func TestADeadLetterWhoseHandlerRanAtACrashIsASuspect(t *testing.T) {
	r, e := dead(counts{}).Crash(shared, -1, time.Time{}, at)
	if r.State != ledger.Dead || !r.Suspect() || e.Crash {
		t.Errorf("state %v, suspect: %v, reported: %v", r.State, r.Suspect(), e.Crash)
	}
}

func TestAHandlerThatWaitedIsNotReportedWithACrash(t *testing.T) {
	r, e := row{}.Crash(waited, 0, time.Time{}, at)
	if e.Crash || r.Suspect() || r.Number() != 2 {
		t.Errorf("reported: %v, suspect: %v, number %d", e.Crash, r.Suspect(), r.Number())
	}
}

// The end of a turn.

func TestAMemberThatHasHandledTheEventHasDoneSoWhateverEndsTheTurn(t *testing.T) {
	for _, v := range []engine.Disposition{
		{Kind: engine.Retry, Attempt: failed}, {Kind: engine.Snooze}, {Kind: engine.Hold}, {Kind: engine.Release}, {Kind: engine.Dead}, {Kind: engine.Discard},
	} {
		v.Progress = "[a]"
		r := do(row{}, turn(v)).Revive(true, at).Restore(at)
		if !r.State.Open() || r.Progress != "[a]" {
			t.Errorf("after kind %d: state %v, progress %q", v.Kind, r.State, r.Progress)
		}
	}
}

func TestAnExecutionThatSucceedsIsNotUncountedAndOneThatDiscardsIs(t *testing.T) {
	if r := do(row{}, turn(engine.Disposition{Kind: engine.Done})); r.Uncounted != 0 {
		t.Errorf("%d executions beside the one that succeeded", r.Uncounted)
	}
	r := row{Delivery: counts{Uncounted: 1}}
	if r = do(r, turn(engine.Disposition{Kind: engine.Discard})).Restore(at); r.Number() != 3 {
		t.Errorf("after the undo of its discard it has attempt %d, want 3", r.Number())
	}
}

func TestAReleaseBeforeItsBeginWritesNothing(t *testing.T) {
	r, e := unbegun(engine.Disposition{Kind: engine.Release})(tried())
	if r != tried() || !e.Unchanged {
		t.Errorf("%+v (unchanged: %v)", r, e.Unchanged)
	}
}

func TestWhatATurnChangesIsAllThatItMayWrite(t *testing.T) {
	kept := row{Delivery: counts{Failures: 2, Since: before}, Due: later, Set: at, Tries: 7, History: 5, Redriven: 2}
	v := &engine.Disposition{Kind: engine.Discard, Reason: "no"}
	n, e := kept.Delivery.After(true, v, ledger.Moment{At: at}) // by who has not read the row
	r := kept.Take(n, e)
	if r.Tries != 7 || r.History != 5 || r.Redriven != 2 || !r.Since.Equal(before) {
		t.Errorf("what the turn did not see has changed: %+v", r)
	}
	if r = r.Restore(at); r.History != 7 {
		t.Errorf("after the undo %d attempts are history, want 7", r.History)
	}
}

// Strict order.

func TestADelayedEventIsExemptFromAStrictOrderAlsoWhenItIsPutOff(t *testing.T) {
	r := ledger.Fresh(&engine.Record{Due: before})
	for _, again := range []step{snooze, retry, crashed(alone, 0), paused(engine.Disposition{Kind: engine.Hold})} {
		if r = do(r, again); r.Failing() {
			t.Errorf("later events wait for %+v", r)
		}
	}
}

func TestARevivedDeadLetterIsExemptFromAStrictOrderAlsoWhenItIsPutOff(t *testing.T) {
	r := dead(counts{}).Revive(true, at)
	for _, again := range []step{snooze, retry, crashed(alone, 0), paused(engine.Disposition{Kind: engine.Hold})} {
		if r = do(r, again); r.Failing() {
			t.Errorf("later events wait for %+v", r)
		}
	}
	if _, made := dead(counts{}).Edit("id", at); do(made, retry).Failing() {
		t.Error("later events wait for an edited one")
	}
}

func TestAStrictOrderWaitsForAllOthersThatComeAgain(t *testing.T) {
	fresh := ledger.Fresh(&engine.Record{CreatedAt: before})
	if fresh.Failing() {
		t.Error("later events wait for one that was not tried")
	}
	replayed := ledger.Handled(&engine.Record{CreatedAt: before}).Replay(at)
	for name, again := range map[string]step{
		"fails": retry, "is snoozed": snooze, "is held": paused(engine.Disposition{Kind: engine.Hold}), "crashes": crashed(shared, 0), "is suspended": turn(engine.Disposition{Kind: engine.Suspend, Due: later}),
	} {
		for _, r := range []row{fresh, replayed} {
			if !do(r, again).Failing() {
				t.Errorf("nothing waits for an event that %s (replayed: %v)", name, r.Replayed)
			}
		}
	}
	if do(fresh, retry).Discard("why", at).Failing() {
		t.Error("later events wait for one that is settled")
	}
	if do(fresh, unbegun(engine.Disposition{Kind: engine.Release, Progress: "[a]"})).Failing() {
		t.Error("later events wait for one that was given back")
	}
	if !(row{State: ledger.Held}).Failing() || !(row{Delivery: counts{Together: 1}}).Failing() || !(row{Delivery: counts{Failures: 1}}).Failing() ||
		!(row{Delivery: counts{Undoing: true}}).Failing() {
		t.Error("nothing waits for what is held, a suspect, has failed or is undone")
	}
}

// Cancels, discards and their undo.

func TestTheNumberOfTheNextAttemptDoesNotFallByTheUndoOfADiscard(t *testing.T) {
	if r := tried().Discard("why", at).Restore(at); r.Number() != tried().Number() {
		t.Errorf("it is attempt %d, and was %d", r.Number(), tried().Number())
	}
}

func TestADiscardThatIsUndoneBeforeItIsWrittenBeginsAnew(t *testing.T) {
	cancel := &engine.Disposition{Kind: engine.Discard, Cancelled: true, Reason: "why"}
	r, e := do(tried(), crashed(shared, 0)).After(false, cancel, ledger.Moment{At: at})
	if r.State != ledger.Waiting || r.Failures != 0 || !r.Since.Equal(at) || r.History != 2 || !r.Suspect() || !e.Again || e.Settled {
		t.Errorf("%+v, %+v", r, e)
	}
	own := &engine.Disposition{Kind: engine.Discard, Reason: "its handler says so"}
	if r, _ = tried().After(true, own, ledger.Moment{At: at}); r.State != ledger.Discarded {
		t.Error("a discard by its handler is not undone by the lack of a cancel")
	}
}

// Whoever cancels and undoes that does not know whether the process that dispatches has looked between.
func TestTheUndoOfACancelDoesNotDependOnHowQuickItsOwnerWas(t *testing.T) {
	for name, r := range map[string]row{
		"a retry that waits": tried(),
		"held":               {Delivery: counts{Uncounted: 1, PutOff: true}, State: ledger.Held},
		"delayed":            do(ledger.Fresh(&engine.Record{Due: later}), snooze),
		"a suspect":          do(row{}, crashed(shared, 0)),
	} {
		cancelled := r.Cancel("why")
		settled := do(cancelled, unbegun(engine.Disposition{Kind: engine.Discard, Cancelled: true, Reason: "why"}))
		if settled.State != ledger.Discarded {
			t.Errorf("%s: its owner has not settled it: %v", name, settled.State)
		}
		if before, after := cancelled.Restore(at), settled.Restore(at); before != after {
			t.Errorf("%s: %+v before its owner has settled it, %+v afterwards", name, before, after)
		}
	}
}

func TestADelayedEventIsDueNowAfterTheUndoOfItsDiscard(t *testing.T) {
	r := ledger.Fresh(&engine.Record{Due: later.Add(48 * time.Hour)})
	for _, undone := range []row{r.Cancel("why").Restore(at), r.Discard("why", at).Restore(at)} {
		if !undone.Due.Equal(at) || undone.State != ledger.Waiting {
			t.Errorf("it is due at %v", undone.Due)
		}
	}
}

func TestNothingIsHeldThatNoPauseHolds(t *testing.T) {
	r := row{State: ledger.Held}.Cancel("why").Resume() // which looks for what is held
	if r = r.Restore(at); r.State != ledger.Waiting {
		t.Error("it is held, and nobody resumes its type any more")
	}
}

func TestARestoredDeadLetterIsWhatItWas(t *testing.T) {
	r := dead(counts{Uncounted: 4, Snoozes: 3, Together: 2, Crashed: true, Progress: "[a]"})
	if got := r.Discard("why", later).Restore(later); got != r {
		t.Errorf("it was %+v, and is %+v", r, got)
	}
}

func TestACancelledDeliveryThatComesAgainIsDueAtOnce(t *testing.T) {
	for _, v := range []engine.Disposition{
		{Kind: engine.Retry, Attempt: failed}, {Kind: engine.Snooze}, {Kind: engine.Hold}, {Kind: engine.Hold, Held: &before}, {Kind: engine.Release},
	} {
		r, e := tried().Cancel("why").After(true, &v, ledger.Moment{At: at, Due: later, Paused: true})
		if r.State != ledger.Waiting || !r.Due.IsZero() || !r.Set.IsZero() || !r.Cancelled || r.Reason != "why" || !e.Again {
			t.Errorf("after kind %d: %+v (again: %v)", v.Kind, r, e.Again)
		}
		n, e := tried().Delivery.After(true, &v, ledger.Moment{At: at, Due: later, Paused: true, Cancelled: true}) // which the engine knows from elsewhere
		if n.State != ledger.Waiting || !n.Due.IsZero() || !e.Again {
			t.Errorf("after kind %d: %+v (again: %v)", v.Kind, n, e.Again)
		}
	}
}

func TestAMemberThatDiscardsKeepsWhatTheOthersHaveDone(t *testing.T) {
	r := do(tried(), turn(engine.Disposition{Kind: engine.Discard, Reason: "no", Progress: "[a]"})).Restore(at)
	if r.Progress != "[a]" {
		t.Errorf("after the undo the members that have handled it are %q", r.Progress)
	}
}

func TestNothingBringsAnErasedEventBack(t *testing.T) {
	for _, r := range []row{dead(counts{}).Erase(at), dead(counts{}).Discard("why", at).Erase(at), tried().Discard("why", at).Erase(at)} {
		if again := r.Restore(at).Revive(true, at).Replay(at); again != r || r.State != ledger.Discarded || r.Was != nil {
			t.Errorf("%+v is %+v", r, again)
		}
	}
}

// Redrives.

func TestOnlyADeadLetterIsRevived(t *testing.T) {
	for _, r := range []row{tried(), {State: ledger.Done}, {State: ledger.Discarded}} {
		if r.Revive(false, at) != r {
			t.Errorf("%+v was revived", r)
		}
	}
}

func TestADeadSuspectWhoseLastAttemptWasNoCrashIsRedriven(t *testing.T) {
	r := do(row{}, crashed(shared, 0), unbegun(engine.Disposition{Kind: engine.Dead, Reason: event.ReasonExpired}))
	if !r.Suspect() || !r.Redrivable("", &engine.RedriveSpec{DeadBefore: at, Max: 1}) {
		t.Error("it has only run beside others when the process ended, and is not redriven")
	}
	r = do(row{}, crashed(shared, 0), turn(engine.Disposition{Kind: engine.Dead, NotCalled: true, Attempt: failed, Reason: event.ReasonDecode}))
	if !r.Suspect() || !r.Redrivable(event.KindDecode, &engine.RedriveSpec{DeadBefore: at, Max: 1, Reasons: []string{event.ReasonDecode}}) {
		t.Error("it does not decode, and is not redriven by that word")
	}
}

func TestARedriveChoosesByReasonOrLastAttemptAndACrashOnlyByItsName(t *testing.T) {
	spec := func(reasons ...string) *engine.RedriveSpec {
		return &engine.RedriveSpec{DeadBefore: at, Max: 2, Reasons: reasons}
	}
	letter := with(dead(counts{}), func(r *row) { r.Ended = at })
	for _, one := range []struct {
		name string
		r    row
		last string
		spec *engine.RedriveSpec
		want bool
	}{
		{"any reason", letter, event.KindError, spec(), true},
		{"its reason", letter, event.KindError, spec(event.ReasonExpired, event.ReasonMaxAttempts), true},
		{"its last attempt", letter, event.KindTimeout, spec(event.KindTimeout), true},
		{"another reason", letter, event.KindError, spec(event.ReasonExpired), false},
		{"no attempt", letter, "", spec(""), false},
		{"a crash, unnamed", letter, event.KindCrash, spec(), false},
		{"a crash, by another name", letter, event.KindCrash, spec(event.ReasonMaxAttempts), false},
		{"a crash, named", letter, event.KindCrash, spec(event.ReasonCrash), true},
		{"a crash by its reason, unnamed", with(letter, func(r *row) { r.Reason = event.ReasonCrash }), "", spec(), false},
		{"died later", with(letter, func(r *row) { r.Ended = later }), event.KindError, spec(), false},
		{"redriven too often", with(letter, func(r *row) { r.Redriven = 2 }), event.KindError, spec(), false},
		{"redriven once", with(letter, func(r *row) { r.Redriven = 1 }), event.KindError, spec(), true},
		{"open", tried(), event.KindError, spec(), false},
		{"undone", with(letter, func(r *row) { r.Reason = event.ReasonUndone }), event.KindError, spec(event.ReasonUndone), false},
	} {
		if got := one.r.Redrivable(one.last, one.spec); got != one.want {
			t.Errorf("%s: %v", one.name, got)
		}
	}
}
