package ledger_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	inTable = "TestEveryTransitionIsAsTheTableSays"
	inLives = "TestTheRulesHoldInEveryLife"
	inJudge = "TestACrashIsJudgedByAllThatWasAtWork"
)

// brokenRules are small changes that break the ledger, each with a test that fails then.
var brokenRules = []struct{ test, file, old, new string }{
	// row.go
	{inLives, "row.go", "return s <= Held }", "return s <= Waiting }"},
	{"TestOfSharedCrashesOnlyTheFirstMayCount", "row.go", "return d.Failures + d.Uncounted + 1", "return d.Failures + 1"},
	{"TestADelayedEventIsExemptFromAStrictOrderAlsoWhenItIsPutOff", "row.go", "d.Delayed || d.Retried", "d.Retried"},
	{"TestARevivedDeadLetterIsExemptFromAStrictOrderAlsoWhenItIsPutOff", "row.go", "d.Delayed || d.Retried", "d.Delayed"},
	{"TestADispatcherSeesWhatIsKnownOfADelivery", "row.go", "d.Progress, nil, d.Waitlist\n", "d.Progress, out.Held, d.Waitlist\n"},
	{"TestADispatcherSeesWhatIsKnownOfADelivery", "row.go", "d.Suspect(), int32(d.Together), d.Crashed, int32(d.Run)", "d.Crashed, int32(d.Together), d.Crashed, int32(d.Run)"},
	{"TestADispatcherSeesWhatIsKnownOfADelivery", "row.go", "d.Crashed, int32(d.Run)", "d.Crashed, 0"},
	{inTable, "row.go", "	d.Uncounted += d.Failures\n", ""},
	{inTable, "row.go", "d.Snoozes, d.Crashed, d.PutOff = 0, 0, 0, false, false", "d.Crashed, d.PutOff = 0, 0, false, false"},
	{inTable, "row.go", "d.Snoozes, d.Crashed, d.PutOff = 0, 0, 0, false, false", "d.Snoozes, d.Crashed = 0, 0, 0, false"},
	{inTable, "row.go", "	d.Since, d.HeldSince, d.Suspended = at, time.Time{}, false\n", "	d.HeldSince, d.Suspended = time.Time{}, false\n"},
	{inTable, "row.go", "(at), r.Tries, time.Time{}\n", "(at), r.History, time.Time{}\n"},
	{"TestASharedCrashFromBeforeARevivalNeverCounts", "row.go", "r.Delivery, r.History, r.OpenCrash = r.Delivery.anew(at), r.Tries, time.Time{}", "r.Delivery, r.History = r.Delivery.anew(at), r.Tries"},
	{"TestADelayedEventIsDueNowAfterTheUndoOfItsDiscard", "row.go", ".wait(at, at)\n", ".wait(time.Time{}, at)\n"},
	{"TestAStrictOrderWaitsForAllOthersThatComeAgain", "row.go", "return r.State.Open() && !r.Exempt() &&", "return !r.Exempt() &&"},
	{"TestAStrictOrderWaitsForAllOthersThatComeAgain", "row.go", "r.Failures > 0 || r.PutOff ||", "r.PutOff ||"},
	{"TestAStrictOrderWaitsForAllOthersThatComeAgain", "row.go", "r.Failures > 0 || r.PutOff ||", "r.Failures > 0 ||"},
	{"TestAStrictOrderWaitsForAllOthersThatComeAgain", "row.go", " || r.State == Held || r.Suspect()", " || r.Suspect()"},
	{"TestAStrictOrderWaitsForAllOthersThatComeAgain", "row.go", " || r.Suspect()", ""},
	{inLives, "row.go", "	r.Cancelled, r.Was = false, nil\n", "	r.Was = nil\n"},
	{inLives, "row.go", "r.Due, r.Set, r.HeldSince, r.Waitlist, r.Key, r.Suspended = time.Time{}, time.Time{}, time.Time{}, \"\", \"\", false", "r.Due, r.Set, r.Waitlist, r.Key, r.Suspended = time.Time{}, time.Time{}, \"\", \"\", false"},
	{inTable, "row.go", "r.State, r.Due, r.Set, r.HeldSince, r.Waitlist, r.Key, r.Suspended = Waiting, due, set, time.Time{}, \"\", \"\", false", "r.State, r.Due, r.Set, r.Waitlist, r.Key, r.Suspended = Waiting, due, set, \"\", \"\", false"},
	{inTable, "row.go", "Waiting, due, set, time.Time{}, \"\", \"\", false", "Waiting, due, set, time.Time{}, \"\", \"\", r.Suspended"},

	// turn.go
	{inTable, "turn.go", "called := begun && !v.NotCalled && v.Kind != engine.Release", "called := begun && !v.NotCalled"},
	{"TestALimitThatWasWaitedForInVainLeavesASuspectOne", "turn.go", "called := begun && !v.NotCalled &&", "called := begun &&"},
	{"TestACancelWithoutACallLeavesASuspectOne", "turn.go", "called := begun && !v.NotCalled &&", "called := !v.NotCalled &&"},
	{inTable, "turn.go", "v.Kind == engine.Release && !begun && v.Progress", "v.Kind == engine.Release && v.Progress"},
	{inTable, "turn.go", "&& v.Progress == d.Progress && len", "&& len"},
	{inTable, "turn.go", " && len(v.Staged) == 0 {", " {"},
	{"TestAReleaseBeforeItsBeginWritesNothing", "turn.go", "!begun && v.Progress == d.Progress && len(v.Staged) == 0", "false"},
	{inTable, "turn.go", "Cleared: called || v.Attempt != nil", "Cleared: called"},
	{"TestASnoozeOfAHandlerThatWasCalledEndsACrashWithTheSuspicion", "turn.go", "Cleared: called || v.Attempt != nil", "Cleared: v.Attempt != nil"},
	{inTable, "turn.go", "		n.Failures++\n", "		n.Uncounted++\n"},
	{"TestAnExecutionThatSucceedsIsNotUncountedAndOneThatDiscardsIs", "turn.go", "case begun && v.Kind != engine.Done:", "case begun:"},
	{"TestAnExecutionThatSucceedsIsNotUncountedAndOneThatDiscardsIs", "turn.go", "case begun && v.Kind != engine.Done:", "case begun && v.Kind != engine.Done && v.Kind != engine.Discard:"},
	{inTable, "turn.go", "case begun && v.Kind != engine.Done:", "case v.Kind != engine.Done:"},
	{"TestASnoozeOfAHandlerThatWasCalledEndsACrashWithTheSuspicion", "turn.go", "	if n.Cleared {\n		n.Crashed = false\n	}\n", ""},
	{"TestASnoozeOfAHandlerThatWasCalledEndsACrashWithTheSuspicion", "turn.go", "	if called {\n		n.Together = 0\n	}\n", ""},
	{"TestALimitThatWasWaitedForInVainLeavesASuspectOne", "turn.go", "	if called {\n", "	if n.Cleared {\n"},
	{"TestAMemberThatHasHandledTheEventHasDoneSoWhateverEndsTheTurn", "turn.go", "	if v.Kind != engine.Done {\n		n.Progress", "	if v.Kind == engine.Retry {\n		n.Progress"},
	{inTable, "turn.go", "	if v.Kind != engine.Done {\n		n.Progress", "	{\n		n.Progress"},
	{"TestADiscardThatIsUndoneBeforeItIsWrittenBeginsAnew", "turn.go", "if v.Cancelled && !now.Cancelled {", "if false {"},
	{"TestADiscardThatIsUndoneBeforeItIsWrittenBeginsAnew", "turn.go", "if v.Cancelled && !now.Cancelled {", "if !now.Cancelled {"},
	{inTable, "turn.go", "if v.Cancelled && !now.Cancelled {", "if v.Cancelled {"},
	{inTable, "turn.go", "		if now.Cancelled { // which", "		if false { // which"},
	{inTable, "turn.go", "now.Why, \"\", true", "now.Why, \"\", false"},
	{"TestADiscardThatIsUndoneBeforeItIsWrittenBeginsAnew", "turn.go", "e.Again = e.Again || n.Anew", "_ = n.Anew"},
	{inTable, "turn.go", "e.Again = n.State == Waiting && !n.Due.After(now.At)", "e.Again = n.State == Waiting"},
	{inTable, "turn.go", "e.Again = n.State == Waiting && !n.Due.After(now.At)", "e.Again = n.Due.IsZero()"},
	{"TestADispositionSettlesADeliveryIfItsTurnDoes", "turn.go", "how == engine.Discard || how == engine.Dead", "how == engine.Discard"},
	{inTable, "turn.go", "!Settles(v.Kind) && v.Kind != engine.Release", "!Settles(v.Kind)"},
	{inTable, "turn.go", "n.PutOff = n.PutOff || PutsOff(v)", "n.PutOff = n.PutOff || true"},
	{inTable, "turn.go", "n.PutOff = n.PutOff || PutsOff(v)", "n.PutOff = v.Kind == engine.Retry"},
	{inTable, "turn.go", "	if v.Kind == engine.Retry {\n		n.MaxAttempts", "	{\n		n.MaxAttempts"},
	{inTable, "turn.go", "	if v.Asked {", "	if v.Kind == engine.Snooze {"},
	{"TestACancelledDeliveryThatComesAgainIsDueAtOnce", "turn.go", "	case now.Cancelled: //", "	case now.Cancelled && v.Kind == engine.Hold: //"},
	{"TestACancelledDeliveryThatComesAgainIsDueAtOnce", "turn.go", "	case now.Cancelled: //", "	case now.Cancelled && v.Kind != engine.Hold: //"},
	{inTable, "turn.go", "case v.Kind == engine.Retry || v.Kind == engine.Snooze:", "case v.Kind == engine.Retry:"},
	{inTable, "turn.go", "engine.Snooze:\n\t\tn.Due, n.Set = now.Due, now.At\n", "engine.Snooze:\n\t\tn.Due = now.Due\n"},
	{inTable, "turn.go", "case v.Kind == engine.Hold && v.Held != nil:", "case v.Kind == engine.Hold && v.Held != nil && now.Paused:"},
	{inTable, "turn.go", "case v.Kind == engine.Hold && now.Paused:", "case v.Kind == engine.Hold:"},
	{"TestACancelledDeliveryThatComesAgainIsDueAtOnce", "turn.go", "		now.Cancelled, now.Why = true, r.Reason\n", ""},
	{inTable, "turn.go", "n.Suspended, n.Due = true, v.Due", "n.Suspended, n.Due, n.Set = true, v.Due, now.At"},
	{inTable, "turn.go", "n.Suspended, n.Due = true, v.Due", "n.Due = v.Due"},
	{inTable, "turn.go", "		if now.Cancelled { // a cancel", "		if false { // a cancel"},
	{inTable, "turn.go", "n.Undoing, n.State, n.Due, n.Set = true, Waiting,", "n.State, n.Due, n.Set = Waiting,"},
	{inTable, "operators.go", "		r.Run-- //", "		//"},
	{inTable, "operators.go", "	case r.State == Discarded && r.Restorable():\n		r = r.anew", "	case r.State == Discarded:\n		r = r.anew"},
	{inTable, "operators.go", "r.Run, r.Undoing, r.Progress = r.Run+1, false, \"\"", "r.Run, r.Progress = r.Run+1, \"\""},
	{inTable, "operators.go", "r.Run, r.Undoing, r.Progress = r.Run+1, false, \"\"", "r.Run, r.Undoing = r.Run+1, false"},
	{"TestARedriveChoosesByReasonOrLastAttemptAndACrashOnlyByItsName", "operators.go", ", r.Reason == event.ReasonUndone:", ":"},
	{"TestAStrictOrderWaitsForAllOthersThatComeAgain", "row.go", " || r.Undoing)", ")"},
	{inTable, "turn.go", "n.HeldSince, n.Waitlist, n.Key, n.Suspended = time.Time{}, \"\", \"\", false", "n.HeldSince, n.Waitlist, n.Key = time.Time{}, \"\", \"\""},
	{inTable, "turn.go", "	d.Uncounted += d.Failures\n	d.Failures, d.MaxAttempts, d.Together", "	d.Failures, d.MaxAttempts, d.Together"},
	{inTable, "turn.go", "d.Failures, d.MaxAttempts, d.Together, d.Crashed = 0, 0, 0, false", "d.Failures, d.Crashed = 0, false"},
	{inTable, "operators.go", "Run: r.Run + 1}", "Run: r.Run}"},
	{inTable, "turn.go", "		r.Tries++\n", ""},
	{inTable, "turn.go", "	if n.Cleared {\n		r.OpenCrash", "	if n.Anew {\n		r.OpenCrash"},
	{inTable, "turn.go", "	if n.Anew {\n		r.History = r.Tries\n	}\n", ""},
	{inTable, "turn.go", "	if e.Settled || n.Anew {\n", "	if n.Anew {\n"},
	{inTable, "turn.go", "	if !r.Cancelled {\n		r.Reason", "	{\n		r.Reason"},

	// crash.go
	{inJudge, "crash.go", "	ran := others.Counting\n", "	ran := 0\n"},
	{inJudge, "crash.go", "		if !c.Waits {\n			ran++", "		if !c.Waits || true {\n			ran++"},
	{inJudge, "crash.go", "ran = len(own) + others.AtWork", "ran = len(own)"},
	{inJudge, "crash.go", "return c.Waits && !nobody }", "return c.Waits }"},
	{inJudge, "crash.go", "if !c.Batch || waited(c) {", "if waited(c) {"},
	{inJudge, "crash.go", "if !c.Batch || waited(c) {", "if !c.Batch {"},
	{inJudge, "crash.go", "b := batches[c.Unit]\n		if", "b := batches[\"\"]\n		if"},
	{inJudge, "crash.go", "case ran == 1 && sure:", "case ran == 1:"},
	{inJudge, "crash.go", "min(v.Together, half(c.Together))", "v.Together"},
	{inJudge, "crash.go", "b.suspects > 1", "b.suspects > 0"},
	{inJudge, "crash.go", "b.suspects > 1", "false"},
	{"TestHalvingFindsTheEventThatEndsItsProcess", "crash.go", "return (n + 1) / 2 }", "return n/2 + 1 }"},
	{"TestADeadLetterWhoseHandlerRanAtACrashIsASuspect", "crash.go", "	if unknown < 0 {\n		return r.leftBehind(v)\n	}\n", ""},
	{inTable, "crash.go", "	if !r.State.Open() {\n		return r, Effects{Unchanged: true}", "	if r.State == Dead {\n		return r, Effects{Unchanged: true}"},
	{inTable, "crash.go", "	r = r.wait(at, at)\n	e", "	e"},
	{"TestAHandlerThatWaitedIsNotReportedWithACrash", "crash.go", "Crash: v.How != Waited}", "Crash: true}"},
	{inTable, "crash.go", "	if v.How == Waited {\n		r.Uncounted += unknown + 1\n", "	if v.How == Waited {\n		r.Uncounted++\n"},
	{inTable, "crash.go", "	r.PutOff = true\n	if v.How", "	if v.How"},
	{inTable, "crash.go", "r.Tries+1, r.Uncounted+unknown\n", "r.Tries+1, r.Uncounted\n"},
	{inTable, "crash.go", "			e.Counted = r.OpenCrash\n", ""},
	{inTable, "crash.go", "r.Tries+1, max(0, r.Uncounted-1)", "r.Tries+1, r.Uncounted"},
	{"TestACrashEndsThePolicyForAClassOfErrors", "crash.go", "r.MaxAttempts, r.Crashed, r.Together, r.OpenCrash = 0, true, 1, time.Time{}", "r.Crashed, r.Together, r.OpenCrash = true, 1, time.Time{}"},
	{inTable, "crash.go", "r.Crashed, r.Together, r.OpenCrash = 0, true, 1, time.Time{}", "r.Crashed, r.Together = 0, true, 1"},
	{inTable, "crash.go", "	r.Uncounted += unknown + 1\n	if v.Again", "	r.Uncounted++\n	if v.Again"},
	{inTable, "crash.go", "if v.Again && !first.IsZero() {", "if v.Again {\n		first = at\n"},
	{inTable, "crash.go", "if !r.Suspect() { // of", "if true { // of"},
	{inTable, "crash.go", "	r.Together = v.Together\n	return", "	r.Together = 1\n	return"},
	{inTable, "crash.go", "if v.How == Waited || !r.State.Open() && r.State != Dead {", "if !r.State.Open() && r.State != Dead {"},
	{"TestADeadLetterWhoseHandlerRanAtACrashIsASuspect", "crash.go", "!r.State.Open() && r.State != Dead {", "!r.State.Open() {"},
	{inTable, "crash.go", "r.Together, r.PutOff = 1, true", "r.Together = 1"},
	{inTable, "crash.go", "	r = r.wait(time.Time{}, time.Time{})\n	r.Uncounted++\n", "	r = r.wait(time.Time{}, time.Time{})\n"},
	{inTable, "crash.go", "	if d.Failures == 0 {\n", "	{\n"},

	// operators.go
	{inTable, "operators.go", "if !r.State.Open() || r.Cancelled {", "if !r.State.Open() {"},
	{inTable, "operators.go", "if !r.State.Open() || r.Cancelled {", "if r.Cancelled {"},
	{inTable, "operators.go", "	r = r.wait(time.Time{}, time.Time{})\n	r.Cancelled", "	r.Cancelled"},
	{"TestARestoredDeadLetterIsWhatItWas", "operators.go", "	r.Was = was\n	return r\n", "	r.Was = was\n	r.Was = nil\n	return r\n"},
	{inTable, "operators.go", "	case !r.State.Open():\n		return r\n	}\n	r = r.end", "	}\n	r = r.end"},
	{inTable, "operators.go", "		return r.Cancelled\n", "		return true\n"},
	{inTable, "operators.go", "r.Reason != engine.ReasonErased && !strings", "!strings"},
	{inTable, "operators.go", " && !strings.HasPrefix(r.Reason, EditedInto)", " && strings.HasPrefix(r.Reason, \"\")"},
	{"TestOnlyADeadLetterIsRevived", "operators.go", "	if r.State != Dead {\n		return r\n	}\n	r = r.anew(at)\n", "	r = r.anew(at)\n"},
	{"TestARevivedDeadLetterIsExemptFromAStrictOrderAlsoWhenItIsPutOff", "operators.go", "	r.Retried = true\n", ""},
	{inTable, "operators.go", "if r.Redriven++; byHand {", "if byHand {"},
	{inTable, "operators.go", "		r.Redriven = 0\n", ""},
	{"TestARedriveChoosesByReasonOrLastAttemptAndACrashOnlyByItsName", "operators.go", "(r.Reason == event.ReasonCrash || lastKind", "(lastKind"},
	{"TestADeadSuspectWhoseLastAttemptWasNoCrashIsRedriven", "operators.go", "lastKind == event.KindCrash)", "r.Suspect())"},
	{"TestARedriveChoosesByReasonOrLastAttemptAndACrashOnlyByItsName", "operators.go", "case r.State != Dead, r.Ended.After(spec.DeadBefore)", "case r.State != Dead"},
	{"TestARedriveChoosesByReasonOrLastAttemptAndACrashOnlyByItsName", "operators.go", "r.Redriven >= spec.Max", "r.Redriven > spec.Max"},
	{"TestARedriveChoosesByReasonOrLastAttemptAndACrashOnlyByItsName", "operators.go", "lastKind != \"\" && slices.Contains(spec.Reasons, lastKind)", "slices.Contains(spec.Reasons, lastKind)"},
	{inTable, "operators.go", "	if r.State != Done {\n		return r\n	}\n", ""},
	{inTable, "operators.go", "Uncounted: 1 + r.Tries,", "Uncounted: r.Tries,"},
	{inTable, "operators.go", "Delayed: r.Delayed, Replayed: true,", "Replayed: true,"},
	{inTable, "operators.go", "Tries: r.Tries, History: r.Tries}", "Tries: r.Tries}"},
	{inTable, "operators.go", "Together: r.Together, Delayed: true,", "Delayed: true,"},
	{"TestAnImportedDeadLetterHasItsCountsAndAttempts", "operators.go", "		r.Together = 1\n", ""},
	{"TestAnImportedDeadLetterHasItsCountsAndAttempts", "operators.go", "max(len(l.Attempts)-l.Failures, 0)", "len(l.Attempts)"},
	{inTable, "operators.go", "	if r.State != Dead {\n		return r\n	}\n	return Row{", "	return Row{"},
	{inTable, "operators.go", "	if r.State.Open() {\n		return r\n	}\n	if r.State == Dead", "	if r.State == Dead"},
	{"TestNothingBringsAnErasedEventBack", "operators.go", "		r.Reason = engine.ReasonErased\n", ""},
	{"TestNothingBringsAnErasedEventBack", "operators.go", "r.Fingerprint, r.Was = \"\", nil; r", "r.Fingerprint = \"\"; r"},

	// time.go
	{inTable, "time.go", "r.State == Held && r.HeldSince.IsZero()", "r.State == Held"},
	{inTable, "time.go", "r.State == Held && !r.HeldSince.IsZero()", "r.State == Held && false"},
	{inTable, "time.go", "r.State.Open() && !r.Set.IsZero()", "r.State.Open()"},
	{inTable, "time.go", "r.Due, r.Set = r.Due.Add(-by), r.Set.Add(-by)", "r.Due = r.Due.Add(-by)"},
	{inTable, "time.go", "		r.HeldSince = r.HeldSince.Add(-by)\n", ""},
	{inTable, "time.go", "	if r.State == Done {\n", "	if false {\n"},
	{inTable, "time.go", "	r = r.end(Waiting, \"\", \"\", time.Time{})\n", "	r.State = Waiting\n"},
	{inTable, "time.go", "	r.PutOff = true\n", ""},
}

var breakRules = flag.Bool("break", false, "break the ledger in each of the listed ways, and see the tests fail; takes minutes")

func TestEachBreakageFitsTheCode(t *testing.T) {
	for _, rule := range brokenRules {
		source, err := os.ReadFile(rule.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), rule.old); n != 1 {
			t.Errorf("%q occurs %d times in %s, want once: change the list with the code", rule.old, n, rule.file)
		} else if *breakRules {
			t.Run(rule.test, func(t *testing.T) {
				if output := breaks(t, rule.test, rule.file, strings.Replace(string(source), rule.old, rule.new, 1)); output != "" {
					t.Errorf("with %q instead of %q in %s it does not fail:\n%s", rule.new, rule.old, rule.file, output)
				}
			})
		}
	}
}

// breaks runs a test with a changed file, which only the compiler sees. It returns what the test says if it does not
// fail.
func breaks(t *testing.T, test, file, source string) (passed string) {
	folder := t.TempDir()
	changed, overlay := filepath.Join(folder, "changed.go"), filepath.Join(folder, "overlay.json")
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{changed: source, overlay: string(content)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output, _ := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-timeout", "5m", "-run", "^"+test+"$", ".").CombinedOutput()
	if strings.Contains(string(output), "--- FAIL: "+test) {
		return ""
	}
	return string(output)
}
