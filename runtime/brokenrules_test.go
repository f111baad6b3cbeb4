package runtime_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// brokenRule is a change of the code that breaks a rule of docs/semantics.md, and
// the test that has to fail then. The page marks such a test with ✓.
type brokenRule struct {
	test string
	file string // below the root of the module
	old  string // occurs once in it
	new  string
}

var brokenRules = []brokenRule{
	{"TestARetryThatWaitsIsTriedNowWithItsCount", "runtime/internal/ledger/operators.go", "r.Due, r.Set = at, at", "r.Due, r.Set = r.Due, at"},
	{"TestARetryThatWaitsIsTriedNowWithItsCount", "runtime/internal/sqlite/inspect_trynow.go", // a delayed event, too
		"AND d.state = 'waiting' AND d.wait > 0 AND", "AND d.state = 'waiting' AND"},
	{"TestAStoredStepIsNotDoneAgain", "runtime/internal/sqlite/steps.go", // what is stored is not read
		"if d.Failures+d.Uncounted == 0 && !d.Undoing && d.Seq", "if true || d.Seq"},
	{"TestARetriedDeadLetterGoesOn", "runtime/internal/sqlite/steps.go",
		"if d.Failures+d.Uncounted == 0 && !d.Undoing && d.Seq", "if true || d.Seq"},
	{"TestAResultIsTheSameInEveryAttempt", "runtime/step/result.go", // the first time it is what the function has returned
		"	c.to.Set(into.Elem())", "	if c.started.IsZero() {\n		c.to.Set(into.Elem())\n	}"},
	{"TestAStepIsSyncedBeforeItReturns", "runtime/internal/sqlite/steps.go", // it is on disk a little later
		"r.step, r.full = s, true", "r.step, r.full = s, false"},
	{"TestAStepInATransactionIsStoredAsAWhole", "runtime/internal/sqlite/relay.go", // the rows are stored without the step
		"if err == nil && p.Step != nil {", "if err == nil && p.Step != nil && false {"},
	{"TestAStepInATransactionIsDoneOnceOverPowerCuts", "runtime/internal/sqlite/steps.go", // without a claim it seems to be the first attempt
		"max(c.stepsEnd, l.steps.found.Load())", "c.stepsEnd"},
	{"TestAStepThatFailsInManyWaysStoresNothing", "runtime/step/step.go", // what comes with an error is stored
		"		return c.failed(err)\n	}\n	written := false", "		_ = c.failed(err)\n	}\n	written := false"},
	{"TestAStepThatCannotBeStoredDoesNotCountAsAnAttempt", "runtime/internal/dispatch/failure.go",
		"f.uncommitted = uncommitted != nil", "f.uncommitted = err == error(uncommitted)"},
	{"TestAStepResetsTheCountOfFailures", "runtime/internal/dispatch/steps.go", // the dispatcher counts from the start
		"	if s := a.itsSteps(); s != nil && s.progress {", "	if s := a.itsSteps(); s != nil && false {"},
	{"TestAStepResetsTheCountOfFailures", "runtime/internal/sqlite/steps.go", // the file counts from the start
		"	if d.stepped {", "	if d.stepped && false {"},
	{"TestACrashAfterAStepIsTheFirst", "runtime/internal/sqlite/steps.go",
		"	if d.stepped {", "	if d.stepped && false {"},
	{"TestASuspectThatStoresAStepIsNone", "runtime/internal/sqlite/steps.go",
		"	if d.stepped {", "	if d.stepped && false {"},
	{"TestAStoredStepRenewsTheDeadline", "runtime/internal/dispatch/steps.go",
		"		a.Turn(false) // if", "		// if"},
	{"TestStepsAreLimited", "runtime/internal/dispatch/steps.go",
		"if len(s.stored)+len(s.running) >= rules.Max {", "if len(s.stored)+len(s.running) > rules.Max {"},
	{"TestANameIsUsedOnce", "runtime/internal/dispatch/steps.go",
		"if first, used := s.used[name]; used {", "if first, used := s.used[name]; used && false {"},
	{"TestStepsHaveNoOrder", "runtime/internal/sqlite/steps.go", // only what the process that runs has stored
		"WHERE seq = ? AND subscription = ? AND run = ?`", "WHERE seq = ? AND subscription = ? AND run = ? ORDER BY at LIMIT 1`"},
	{"TestARenamedStepIsFound", "runtime/internal/dispatch/steps.go", // the old name goes before the new one
		"append([]string{name}, was...)", "append(was, name)"},
	{"TestAResultOfAnotherShapeIsNotReadAsZeros", "runtime/step/result.go",
		"problem := mismatch(stored.Result, c.to.Type(), \"\"); problem != \"\"", "problem := mismatch(stored.Result, c.to.Type(), \"\"); problem == \"x\""},
	{"TestATypeThatCannotBeStoredIsRefusedBeforeItsEffect", "runtime/step/step.go",
		"problem = unstorable(c.to.Type())", "problem = \"\""},
	{"TestAnEffectWhoseResultIsLostIsNotRepeated", "runtime/step/step.go",
		"	if err := c.attempt.StoreStep(lost); err != nil {\n		return err\n	}\n", ""},
	{"TestTheResultsOfARunAreLimitedTogether", "runtime/internal/dispatch/steps.go",
		"		s.bytes += len(step.Result)", "		_ = len(step.Result)"},
	{"TestAHandlerThatSwallowsASleepSleeps", "runtime/internal/dispatch/attempt.go", // nil means handled
		"case a.isSuspended() && (f.kind", "case a.isSuspended() && f.kind != \"\" && (f.kind"},
	{"TestAHandlerThatPanicsInASleepHasFailed", "runtime/internal/dispatch/attempt.go",
		"(f.kind == \"\" || f.kind == event.KindError && a.doomed() == nil):", "true:"},
	{"TestNothingHappensAfterASuspension", "runtime/internal/dispatch/staging.go",
		"	case a.isSuspended():\n		return ErrSuspended\n", ""},
	{"TestNothingHappensAfterASuspension", "runtime/internal/dispatch/steps.go", // what was published before is stored with the suspension
		"engine.Disposition{Kind: engine.Suspend, Due: until,", "engine.Disposition{Kind: engine.Suspend, Due: until, Staged: a.staged(),"},
	{"TestASleepSurvivesItsProcess", "runtime/step/step.go", // each call sleeps anew
		"		return nil, err\n	}\n	problem", "		if err != nil || kind != engine.StepSleep {\n			return nil, err\n		}\n		return c, nil\n	}\n	problem"},
	{"TestAnEventThatExpiresBeforeASleepIsOverIsADeadLetter", "runtime/internal/dispatch/steps.go",
		"case after == 0 || until.Sub(a.Since) < after:", "case after >= 0:"},
	{"TestAStrictOrderWaitsForASleeper", "runtime/internal/ledger/turn.go",
		"return !Settles(v.Kind) && v.Kind != engine.Release &&", "return !Settles(v.Kind) && v.Kind != engine.Suspend && v.Kind != engine.Release &&"},
	{"TestAReplayDoesEverythingAgain", "runtime/internal/sqlite/inspect_replay.go",
		"1 + coalesce((SELECT max(x.run)", "coalesce((SELECT max(x.run)"},
	{"TestTheStepsOfAGroupAreThoseOfItsMembers", "runtime/internal/dispatch/steps.go",
		"	step.Member = cmp.Or(step.Member, a.member())\n", "	step.Member = \"\"\n"},
	{"TestWhereStepsArePossible", "runtime/steps.go",
		"	case s.config.ephemeral:", "	case s.config.ephemeral && keeper == nil:"},
	{"TestStepsGoWithTheirEvent", "runtime/internal/sqlite/prune.go",
		", \"DELETE FROM busgen_steps WHERE seq = ?\"", ""},
	{"TestAFileWithOpenStepsIsNotMoved", "runtime/internal/sqlite/depart.go",
		"	if err == nil && d.label == nil {\n		err = l.refuseSteps()\n	}\n", ""},
	{"TestResultsAreErased", "runtime/internal/sqlite/inspect_erase_texts.go",
		"{\"busgen_steps\", \"name\", stepKey, stepsSettled},", ""},
	{"TestUndoRunsBackwards", "runtime/internal/dispatch/undo.go", // forwards
		"b.of.At.Compare(a.of.At)", "a.of.At.Compare(b.of.At)"},
	{"TestStepsAreUndoneInTheOrderInWhichTheyWereStored", "runtime/internal/dispatch/steps.go", // several have one time
		"	if !now.After(s.newest) {", "	if !now.After(s.newest) && false {"},
	{"TestUndoRunsBackwards", "runtime/internal/dispatch/undo.go", // what is undone is undone again
		"&& a.findStep(s, engine.UndoPrefix+step.Name, nil) == nil {", "{"},
	{"TestUndoRunsBackwards", "runtime/internal/sqlite/flush.go", // nobody knows why
		"if next.Anew && d.Step != nil {", "if next.Anew && d.Step != nil && false {"},
	{"TestAnEventIsNotSlowBecauseItsHandlerWaitsInAStep", "runtime/slow_event.go", // it was not tried before it has slept
		"|| !a.WentOn().IsZero() || queue", "|| queue"},
	{"TestAnEventIsNotSlowBecauseItsHandlerWaitsInAStep", "runtime/slow_event.go", // it is as old as its event
		" || failure.Ended.Sub(a.WentOn()) < limit", ""},
	{"TestAnUndoInATransactionIsStoredAsAWhole", "runtime/internal/sqlite/relay.go", // the rows are stored without the step
		"if err == nil && p.Step != nil {", "if err == nil && p.Step != nil && false {"},
	{"TestAnOrderIsShippedOrUndoneOnceOverPowerCuts", "runtime/internal/sqlite/relay.go", // the rows are stored without the step
		"if err == nil && p.Step != nil {", "if err == nil && p.Step != nil && false {"},
	{"TestAnOrderIsShippedOrUndoneOnceOverPowerCuts", "runtime/internal/sqlite/steps.go", // an undo is on disk a little later
		"r.step, r.full = s, true", "r.step, r.full = s, s.Step.Kind != engine.StepUndo"},
	{"TestNothingNewHappensWhileStepsAreUndone", "runtime/internal/dispatch/steps.go",
		"	if a.Undoing {\n		return nil, s.noNewStep(name)\n	}\n", ""},
	{"TestNothingNewHappensWhileStepsAreUndone", "runtime/internal/dispatch/undo.go", // only steps are refused
		"	case s.stopped != \"\" && !s.undoing:\n		return ErrSuspended\n", ""},
	{"TestAnUndoThatFailsIsADeadLetterThatGoesOn", "runtime/internal/dispatch/failure.go",
		"	case a.Undoing && reason != event.ReasonUndone:", "	case a.Undoing && reason == \"\":"},
	{"TestAnUndoThatFailsInManyWaysIsTriedAgain", "runtime/internal/dispatch/undo.go", // nobody knows which
		"	s.running = append(s.running, name)\n", ""},
	{"TestAStepThatTheProgramHasNoMoreCannotBeUndone", "runtime/internal/dispatch/undo.go",
		"	for _, step := range s.left {\n		if slices", "	for _, step := range s.left[:0] {\n		if slices"},
	{"TestADeadLetterIsUndoneIfItsSubscriptionWantsThat", "runtime/internal/dispatch/undo.go",
		"reason != event.ReasonUndone && !slices.ContainsFunc(cfg.Handlers(a.Type), wanted) {", "reason != event.ReasonUndone && (true || wanted == nil) {"},
	{"TestEveryDeliveryCanBeUndone", "runtime/internal/ledger/operators.go", // handled events cannot
		"	case r.State == Done:\n		r = r.Replay", "	case false:\n		r = r.Replay"},
	{"TestTheMembersOfAGroupAreUndone", "runtime/internal/dispatch/undo.go", // also those that have handled the event
		"h.isAmong(decodeProgress(r.Progress)) {", "h.isAmong(nil) {"},
	{"TestAStrictOrderWaitsForAnUndo", "runtime/internal/ledger/turn.go",
		"return !Settles(v.Kind) && v.Kind != engine.Release &&", "return !Settles(v.Kind) && v.Kind != engine.Undo && v.Kind != engine.Release &&"},
	{"TestStepsOfADeadLetterAreDoneAgain", "runtime/internal/sqlite/inspect_sweep.go", // more than one is forgotten
		"ofRun+\" AND name = ?3\", at.Seq, at.Subscription, again.Forget)", "ofRun+\" AND name >= ?3\", at.Seq, at.Subscription, again.Forget)"},
	{"TestStepsOfADeadLetterAreDoneAgain", "runtime/internal/sqlite/inspect_filter.go", // all match
		"if f.step != \"\" {", "if f.step != \"\" && false {"},
	{"TestADeadEndpointDoesNotDelayOthers", "runtime/internal/dispatch/limits.go", // all keys have one breaker
		"of.Breaker, err = lim.keyOf(d, of.By); err", "of.Breaker = \"all\"; err"},
	{"TestEventsGoBehindThoseThatWaitForTheirBreaker", "runtime/internal/dispatch/bykey.go", // a breaker that closes frees nothing
		"	if now.State == breaker.Closed {\n		b.consumer", "	if now.State == breaker.Open {\n		b.consumer"},
	{"TestAKeyIsPaused", "runtime/internal/dispatch/bykey.go", // a pause of a key holds nothing
		"	key, ok := b.pausedKey(i)\n	if !ok {", "	key, ok := b.pausedKey(i)\n	if ok || !ok {"},
	{"TestTheKeysThatOpenedFirstAreShown", "runtime/breakers.go", // all are shown
		"return open[:len(open)-more], more", "return open, more"},
	{"TestACustomerWithManyEventsDoesNotKeepOthersWaiting", "runtime/internal/dispatch/intake.go", // nothing is parked
		"crowded = full && waiting > in.window/4", "crowded = full && waiting > in.window"},
	{"TestACustomerWithManyEventsDoesNotKeepOthersWaiting", "runtime/internal/dispatch/waitlists.go", // nothing is freed but by the patrol
		"			v.Frees = append(v.Frees, waitlist)", "			_ = waitlist"},
	{"TestALimitedTypeDoesNotKeepOthersOfItsSubscriptionWaiting", "runtime/internal/dispatch/waitlists.go",
		"l.cfg.Shared != nil && l.cfg.Shared(name):", "true:"},
	{"TestParkedDeliveriesAreHandledOnceInTheOrderOfTheirKeys", "runtime/internal/dispatch/waitlists.go", // what comes overtakes what is parked
		"	if at < 0 {\n		return \"\"", "	if at < 0 || i.Waitlist == \"\" {\n		return \"\""},
	{"TestParkedDeliveriesAreHandledOnceInTheOrderOfTheirKeys", "runtime/internal/dispatch/waitlists.go", // what was freed overtakes an earlier one
		"1)]; i.Key == \"\" {", "1)]; true {"},
	{"TestParkedDeliveriesAreHandledOnceInTheOrderOfTheirKeys", "runtime/internal/dispatch/site.go", // what waits behind stays in memory
		"	if v.Waitlist != \"\" {\n		waitlists", "	if false {\n		waitlists"},
	{"TestWhatIsParkedGoesOnWhenTheOneBeforeItIsCancelled", "runtime/internal/sqlite/cancel.go", // its waitlists are not freed
		"	for _, waitlist := range waitlists {\n", "	for _, waitlist := range waitlists[:0] {\n"},
	{"TestACriticalEventBehindABacklogBeginsWithinOneTurn", "runtime/internal/dispatch/intake.go", // it waits for room in the window
		"	if !extra && critical+high == 0 && (", "	if !extra && ("},
	{"TestACriticalEventBehindABacklogBeginsWithinOneTurn", "runtime/internal/sqlite/poll.go", // the log hands it out again after a crash
		"x.subscription = ?1 AND x.seq = l.seq)", "x.subscription = ?1 AND x.seq = -l.seq)"},
	{"TestACriticalEventBehindABacklogBeginsWithinOneTurn", "runtime/internal/sqlite/express.go", // all before it may have been handled
		"	if !own.express {", "	if true {"},
	{"TestACriticalEventBehindABacklogBeginsWithinOneTurn", "runtime/internal/sqlite/recover.go", // all before it get rows
		"		if !one.apart {", "		if true {"},
	{"TestACriticalEventGoesAheadOfAThousandRetries", "runtime/internal/sqlite/express.go",
		"d.due_at BETWEEN 0 AND ?3))`", "d.due_at BETWEEN ?3 AND 0))`"},
	{"TestManyHighEventsLeaveTurnsToTheBacklogAndTheRetries", "runtime/internal/dispatch/intake.go", // retries wait for half of the window
		"	if room < max(in.window/16, 1) {", "	if room < in.window {"},
	{"TestAnEventThatGoesAheadLooksLikeAllOthers", "runtime/internal/sqlite/inspect_event.go",
		"WHEN d.due_at < 0 THEN 'pending'", "WHEN d.due_at < -9 THEN 'pending'"},
	{"TestAnEventThatGoesAheadKeepsTheOrderOfItsKey", "runtime/publish.go",
		"	if typeOf(t).partitioned() {\n		return 0", "	if false {\n		return 0"},
	{"TestNothingGoesAheadInAStrictOrder", "runtime/internal/sqlite/express.go", // the file does not say that there is an order
		"SET strict = 1 WHERE", "SET strict = 0 WHERE"},
	{"TestNothingGoesAheadInAStrictOrder", "runtime/internal/sqlite/express.go", // what went ahead before comes first
		"AND seq > (SELECT cursor FROM busgen_subscriptions WHERE id = ?1)", "AND seq < 0"},
	{"TestAnEventThatDoesNotFailIsSlowToo", "runtime/internal/dispatch/deadlines.go",
		"	if after == 0 || a.delays {", "	if true || a.delays {"},
	{"TestTheLogNamesTheSubscriptionWithoutAHandlerForWhichSomebodyWaits", "runtime/unhandled.go",
		"	if b.began.Load() != nil {\n		soon", "	if false {\n		soon"},
	{"TestAKeyComparesValuesNotHowTheyAreWritten", "runtime/dedupe.go",
		"return err == nil && deep.Equal(own, stored)", "return err != nil && deep.Equal(own, stored)"},
	{"TestAKeyIsFreeAfterTheCancelOfItsEvent", "runtime/internal/sqlite/dedupe.go",
		"AND NOT ` + freed + ` LIMIT 1", "AND coalesce(1, ` + freed + `) LIMIT 1"},
	{"TestAKeyIsFreeAfterItsDeadLetterIsDiscarded", "runtime/internal/sqlite/dedupe.go",
		" OR x.dead_at IS NOT NULL)", ")"},
	{"TestACancelledEventIsNotFound", "runtime/internal/sqlite/awaits.go",
		"AND coalesce(x.answer, 1) <> 2)", "AND 0)"},
	{"TestAnEventWakesTheDeliveriesThatWaitForIt", "runtime/internal/sqlite/awaits.go", // the consumer does not hear of it
		"	m.woken = append(m.woken, at.Subscription)\n", ""},
	{"TestNoEventFallsBetweenLookingAndWaiting", "runtime/internal/sqlite/awaits.go", // nobody looks again
		"	return m.resolve(c, at)\n", "	return nil\n"},
	{"TestNoWaitMissesAnEvent", "runtime/internal/sqlite/awaits.go", // who waits behind a gap is forgotten
		"m.doubts = append(m.doubts, doubt{at, one.of})", "_ = at"},
	{"TestNoWaitMissesAnEvent", "runtime/internal/sqlite/awaits.go", // an event behind a gap is found
		"AND k.seq > ? AND k.seq <= ? AND EXISTS", "AND k.seq > ? AND coalesce(1, ?) AND EXISTS"},
	{"TestKeysAndWaitsGoWithTheirEvents", "runtime/internal/sqlite/prune.go", // what a handler may ask for is pruned
		"AND NOT (l.seq > ? AND", "AND NOT (l.seq > ? AND 0 AND"},
	{"TestAnAwaitedEventIsKept", "runtime/internal/sqlite/prune.go", // what a step has got is pruned when nobody asks any more
		"	return at.Seq, err\n", "	return math.MaxInt64, err\n"},
	{"TestWhatEndsAWaitForgetsIt", "runtime/internal/sqlite/tables/schema.sql", // only the triggers know all ways
		"AFTER DELETE ON busgen_deliveries WHEN OLD.suspended", "AFTER DELETE ON busgen_deliveries WHEN 0"},
	{"TestWhatEndsAWaitForgetsIt", "runtime/internal/sqlite/tables/schema.sql",
		"AFTER UPDATE OF suspended ON busgen_deliveries WHEN OLD.suspended", "AFTER UPDATE OF suspended ON busgen_deliveries WHEN 0"},
	{"TestAnEventThatCameEarlyIsFound", "runtime/internal/dispatch/awaits.go", // each step gets the first
		"		if at.member == member", "		if at.member != member"},
	{"TestAWaitEndsWithItsEvent", "runtime/internal/sqlite/awaits.go", // it is due when its time is over
		"wait = 0 WHERE subscription = ? AND seq = ? AND state = 'waiting' AND suspended", "wait = 0 WHERE subscription = ? AND seq = ? AND state = 'dead' AND suspended"},
	{"TestAWaitSurvivesItsProcess", "runtime/internal/sqlite/awaits.go", // events that others have stored wake nobody
		"			if err == nil {\n				err = m.wake(c, t, one.key, one.seq)\n			}\n", ""},
	{"TestTheFirstOfSeveralEventsEndsAWait", "runtime/internal/sqlite/awaits.go", // only the first that is named wakes
		"		for _, of := range one.Of {", "		for _, of := range one.Of[:min(1, len(one.Of))] {"},
	{"TestTwoStepsThatWaitForOneKeyGetTwoEvents", "runtime/internal/dispatch/awaits.go",
		"at.member == member && step.Kind == engine.StepEvent {", "at.member == member && step.Kind == engine.StepDo {"},
	{"TestASleepEndsInItsMicrosecond", "runtime/internal/dispatch/steps.go",
		"Add(time.Microsecond - 1).Truncate(time.Microsecond).UTC()", "UTC()"},
	{"TestATimeoutOfAWaitIsFinal", "runtime/internal/dispatch/awaits.go", // each life waits anew
		"		case engine.StepAwait:\n			if err", "		case engine.StepAwait:\n			stored = nil\n			if err"},
	{"TestATimeoutOfAWaitIsFinal", "runtime/internal/dispatch/awaits.go", // it looks again
		"		case engine.StepNone:\n			return nil, nil\n", "		case engine.StepNone:\n"},
	{"TestAnEventThatExpiresInAWaitIsADeadLetterThen", "runtime/internal/dispatch/steps.go", // at once
		"	case len(awaits) > 0: // one", "	case len(awaits) < 0: // one"},
	{"TestAWaitThatCannotBeIsADeadLetter", "runtime/steps.go",
		"		case keys[i] == \"\":", "		case keys[i] == \"x\":"},
	{"TestRandomProgramsOfStepsGoOn", "runtime/internal/dispatch/steps.go", // a renamed step is done again
		"range append([]string{name}, was...) {", "range append([]string{name}, was[:0]...) {"},
	{"TestAnEventLooksTheSameInEveryAttempt", "runtime/internal/engine/record.go",
		"return t.UTC().Truncate(time.Microsecond)", "return t.UTC()"},
	{"TestAMomentWhoseOffsetHasSecondsIsKeptByTypesThatEncodingJSONWrites", "runtime/gen/wire/typecodec.go",
		"json.Marshal(inUTC(value))", "json.Marshal(value)"},
	{"TestAnEventOfANewerVersionIsHeldUntilAProgramTakesOverThatKnowsIt", "runtime/internal/sqlite/clock.go", // nobody looks again
		"if err == nil && held {", "if err == nil && held && back > 0 {"},
	{"TestAnEventThatNoProgramKnowsIsADeadLetterAfterHoldUnknown", "runtime/internal/dispatch/gate.go", // each restart begins anew
		"if v.Held = i.Held; v.Held == nil {", "if v.Held = i.Held; v.Held == nil || !v.Held.After(now) {"},
	{"TestAHeldEventKeepsItsPlaceInAStrictOrder", "runtime/feed.go", // its key is not read
		"	if d.Version > t.Version() {\n", "	if false {\n"},
	{"TestEveryLogIsHandledToItsEndWithoutAnotherPublish", "runtime/internal/dispatch/intake.go", // a short answer is taken for the end
		"		return polled, more, due, err\n", "		return polled, len(polled) == room, due, err\n"},
	{"TestEveryLogIsHandledToItsEndWithoutAnotherPublish", "runtime/internal/dispatch/intake.go", // nothing is polled for a full window
		"	if in.cfg.Strict {\n		var next", "	if in.cfg.Strict && room > 0 {\n		var next"},
	{"TestEveryLogIsHandledToItsEndWithoutAnotherPublish", "runtime/internal/sqlite/ahead.go", // an empty page that was read ahead is believed
		"len(a.events) == 0:\n\t\treturn dst, a.next, nil", "len(a.events) == 0:\n\t\treturn dst, max(a.next, c.ground.tail.end()), nil"},
	{"TestPollSaysWhetherThereIsMore", "runtime/internal/sqlite/consumer.go", // the rows of another process's express events are not looked for
		"	c.express.look()\n", ""},
	{"TestPollSaysWhetherThereIsMore", "runtime/internal/sqlite/poll.go", // a short answer is said to be the end
		"return dst, next < c.ground.tail.end(), nil // what", "return dst, len(events) == limit, nil // what"},
	{"TestALookThatFailsHalfWayIsRepeated", "runtime/internal/sqlite/owner.go",
		"if o.refresh(o.writer.conn) != nil {", "if o.refresh(o.writer.conn) != nil && false {"},
	{"TestABatchWhoseKeysHaveMoreEventsDoesNotWaitInAStrictOrder", "runtime/internal/dispatch/gather.go",
		"g.cfg.Strict && g.queue.HeldUpBy(g.Items))", "false && g.queue.HeldUpBy(g.Items))"},
	{"TestWaitIdleWaitsForWhatAnotherProcessHasPublished", "runtime/internal/sqlite/outcome.go",
		"OR coalesce((SELECT max(seq) FROM busgen_log), 0) > ?2`", "OR ?2 < 0`"},
	{"TestABatchThatIsTooLargeAsAWholeStoresNothing", "runtime/publish.go",
		"if size <= engine.MaxBatch {", "if size > 0 {"},
	{"TestMetadataHasAMebibyteHoweverLargePayloadsMayBe", "runtime/bus.go",
		"min(b.config.payloadLimit, engine.MaxMetadata)", "b.config.payloadLimit"},
	{"TestASubscriptionThatStallsIsLookedAtAndTheLogTheCountsAndTheHealthSaySo", "runtime/internal/dispatch/intake.go",
		"	in.woken()\n	return looked", "	return looked"},
	{"TestASubscriptionAtRestLooksLessAndLess", "runtime/internal/dispatch/stall.go",
		"min(2*w.pause, stallSlowest)", "stallAfter"},
	{"TestAForgottenTransactionIsNamedAndPublishersWaitFiveSecondsForIt", "runtime/internal/sqlite/ground.go",
		"timer := time.NewTimer(g.by.patience())", "timer := time.NewTimer(database.BusyTimeout)"},
	{"TestAnErrorWhoseMethodsEndTheirGoroutineIsAFailedAttempt", "runtime/internal/dispatch/failure.go",
		"f, ok := guard.Apart(func() failure { return a.examine(err, kind, stack) })", "f, ok := a.examine(err, kind, stack), guard.PanicText(nil) != \"\""},
	{"TestCodeThatEndsItsGoroutineBeforeTheHandlerIsNotTheHandlers", "runtime/payload.go",
		"	a.Decoding(true)\n", ""},
	{"TestATimeoutSaysThatThePayloadWasStillBeingDecoded", "runtime/internal/dispatch/failure.go",
		"a.run.decoding = begins; a.over {", "a.run.decoding = begins; false {"},
	{"TestWhatTriggersPublishForAHandlerAreItsChildren", "runtime/tx.go",
		"		Adopt:   b.adopting(a),\n", ""},
	{"TestWhatTheDatabasePublishesWithTheContextOfAHandlerAreItsChildren", "runtime/internal/sqlite/sqlapi/conn.go",
		"case !m.publishes || c.adopt == nil:", "default:"},
	{"TestACircleThroughATriggerEndsAtTheHopLimit", "runtime/internal/sqlite/relay.go",
		"		err = refused\n", "		_ = refused\n"},
	{"TestWhatAnotherHandlerHasAskedForDoesNotSteerTheOneThatReturnsItsError", "runtime/internal/dispatch/errs/handler_error.go",
		"		case *HandlerError:\n			return false\n", ""},
	{"TestAHandlerSteersWithItsOwnWordsAroundTheErrorOfAnother", "runtime/internal/dispatch/errs/usercode.go",
		"match(OwnWords(err))", "match(err)"},
	{"TestTheErrorOfAChildMeansTheSameAfterARestart", "runtime/receipt.go",
		"if one.Dead && s.Failures > 0 {", "if one.Dead && b.causes.next > 0 {"},
	{"TestACancelledChildIsAnErrorThatSaysSo", "runtime/internal/engine/wait.go",
		"s.State == event.StateDiscarded && s.Reason == ReasonCancelled", "false"},
	{"TestADiscardByTheHandlerIsNoErrorForThoseWhoWait", "runtime/internal/dispatch/failure.go",
		"		if reason == engine.ReasonCancelled {", "		if reason == \"\" {"},
	{"TestAPayloadThatSQLiteHasNoMemoryForIsHandled", "runtime/internal/sqlite/tables/long.go",
		"InlineBytes = 256 << 10", "InlineBytes = 1 << 30"},
	{"TestABatchThatSQLiteHasNoMemoryForIsWrittenEventByEvent", "runtime/internal/sqlite/batch.go",
		"maxInsertBytes = 1 << 20", "maxInsertBytes = 1 << 40"},
	{"TestAnEventThatIsTooLongToBeReadIsADeadLetterAndItsNeighboursAreHandled", "runtime/internal/dispatch/intake.go",
		"if d.Unreadable != nil {", "if false {"},
	{"TestWhatWritesNothingDoesNotTellThatTheDiskCanBeWrittenAgain", "runtime/internal/sqlite/writer.go",
		"w.faults.noteWrite(err, b.requests, w.conn.Commits() != before)", "w.faults.noteWrite(err, b.requests, before >= 0)"},
	{"TestWhatWritesNothingDoesNotTellThatTheDiskCanBeWrittenAgain", "runtime/internal/sqlite/ground.go", // what is tried writes nothing
		"l.writer.doSynced(ctx, (*database.Conn).Rewrite)",
		"l.writer.doSynced(ctx, func(c *database.Conn) error { return c.Exec(\"UPDATE busgen_identity SET log = log\") })"},
	{"TestEventsThatAreNotStoredWithTheirTransactionAreCountedAsRefused", "runtime/tx.go",
		"n > 0 && settle == nil", "n > 0 && settle != nil"},
	{"TestAStatusSaysWhatKeepsTheProcessFromWriting", "runtime/internal/sqlite/ground.go",
		"	f.Note(err, bytes)\n	f.tell()\n", "	f.Note(err, bytes)\n"},
	{"TestABusThatStandsByCountsDeadLetters", "runtime/lifecycle.go",
		"b.health.watch(standing, false)", "<-standing.Done()"},
	{"TestHiddenValuesDoNotDecideTheGroupOfADeadLetter", "runtime/internal/dispatch/failure.go",
		"fmt.Sprint(a.shown(last.Error)), last.Stack)", "last.Error, last.Stack)"},
	{"TestWhatLooksReadsABoundedPartOfTheFile", "runtime/internal/sqlite/inspect_events.go", // all candidates at once
		`candidates != "" && p.Offset == 0`, "false"},
	{"TestASearchFindsNothingInWhatIsHidden", "runtime/internal/privacy/hide.go", // errors are searched as they are stored
		"shown = json.RawMessage(veil.Text(string(part)))", "shown = part; _ = veil"},
	{"TestALongPayloadIsListedByItsBeginningAndExportedWhole", "runtime/internal/sqlite/tables/long.go",
		"if payload.Size <= most {", "if payload.Size >= 0 {"},
	{"TestAStatementOfAToolThatTakesForEverIsEnded", "runtime/internal/sqlite/inspection.go",
		"context.WithTimeoutCause(ctx, most, tooLong)", "context.WithTimeoutCause(ctx, time.Hour, tooLong)"},
	{"TestACheckOfAFileMayTakeTwoHours", "runtime/internal/sqlite/inspection.go",
		"checkTime = 2 * time.Hour", "checkTime = 9 * time.Hour"},
	{"TestAFileWithSomethingElseInThePlaceOfATableIsRefused", "runtime/internal/sqlite/tables/schema.go",
		"if s.ColumnInt(6) != 0 {", "if false {"},
	{"TestAReadOnlyTransactionOfTheDatabaseIsASnapshot", "runtime/internal/sqlite/sqlapi/conn.go",
		"if _, err := c.db.Int64(\"PRAGMA user_version\"); err != nil {", "if err := error(nil); err != nil {"},
	{"TestWhatTheDatabaseMustNotDoIsRefusedInWords", "runtime/internal/sqlite/sqlapi/conn.go",
		"return c.file.Check(c.db) })", "return nil })"},
	{"TestWhatAConnectionHasChangedIsNotThereForTheNext", "runtime/internal/sqlite/sqlapi/conn.go",
		"c.broken == nil && !c.shared.guard.changed", "c.broken == nil"},
	{"TestAnInterruptedStatementEndsItsTransactionOfTheDatabase", "runtime/internal/sqlite/sqlapi/session.go",
		"s.lost || (s.within || s.own != nil && s.own.mode != none)", "s.lost || s.within"},
	{"TestWhoHasBegunATransactionDoesNotWaitForItself", "runtime/internal/sqlite/ground.go",
		"g.holder.Store(goroutine.Number())", "_ = goroutine.Number()"},
	{"TestTheEndOfABusEndsItsDatabase", "runtime/lifecycle.go",
		"err := b.database.close()", "err := error(nil)"},
	{"TestTheOutboxPublishesWithinATransactionOfTheBus", "runtime/internal/sqlite/programs.go",
		"s.ColumnType(6) != sqlite3.NULL", "s.ColumnType(6) == 99"},
	{"TestTheOutboxPublishesInATransactionalHandlerAndInTheDatabase", "runtime/internal/sqlite/programs.go",
		"		p.gate.published.Store(true)\n", ""},
	{"TestThePowerMayFailWhileALogIsMovedThatWasNotSynced", "runtime/internal/sqlite/database/transaction.go",
		"	if !c.disk.logLoose {\n", "	if true {\n"},
	{"TestThePowerMayFailWhileALogThatWasNotSyncedIsClosed", "runtime/internal/sqlite/database/conn.go",
		"	if c.fastenLog() != nil {\n", "	if c.Conn == nil {\n"},
	{"TestAnEventOfATransactionOfTheProgramIsHandledRightAfterItsCommit", "runtime/internal/sqlite/join.go",
		"	j.lookout.expect(last.Seq, last.ID)\n", "	_ = last\n"},
	{"TestTheOptionsOfPublishWorkInATransactionOfTheProgram", "runtime/internal/sqlite/join.go",
		"s.exec(\"ROLLBACK TO \" + joinSavepoint)", "_ = 0"},
	{"TestWhatInCannotUseIsRefusedBeforeAnythingIsWritten", "runtime/internal/sqlite/join.go",
		"case hiding != 0:", "case hiding < 0:"},
	{"TestAMigrationLeavesTheTablesOfTheProgramAlone", "runtime/internal/sqlite/tables/schema.go",
		"PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON", "PRAGMA foreign_keys=OFF"},
	{"TestACheckSaysWhoseRowsAreWrong", "runtime/internal/sqlite/inspect_check.go",
		"if aboutRows(line) {", "if false {"},
	{"TestWhatWouldBeInTheWayOfTheBusIsRefused", "runtime/internal/sqlite/relay.go",
		"		err = r.trespasses.check(r.writer.conn)\n", "		_ = r.trespasses.check\n"},
	{"TestATimeoutDoesNotCountWhatATransactionWaits", "runtime/internal/dispatch/deadlines.go",
		"a.extras().turn.Store(&turn{limit: unlimited, begun: unlimited})", "_ = turn{}"},
	{"TestDeletingAllRowsIsInterrupted", "runtime/internal/sqlite/sqlapi/guard.go",
		"return sqlite3.AUTH_IGNORE", "return sqlite3.AUTH_OK"},
	{"TestAValueThatIsTooLongIsRefused", "runtime/internal/sqlite/sqlapi/shared.go",
		"maxLength = 64 << 20", "maxLength = 640 << 20"},
	{"TestOtherProgramsPublishThroughOutbox", "runtime/internal/sqlite/tables/schema.sql",
		"(112 + (random() & 15))", "(random() & 15)"},
	{"TestOutboxRefusesWhatIsNoEventInWords", "runtime/internal/sqlite/tables/schema.sql",
		"HAVING count(*) > 1", "HAVING count(*) > 2"},
	{"TestADelayedEventOfOutboxIsHandledWhenItIsDue", "runtime/internal/sqlite/tables/schema.sql",
		"NEW.delay_ms * 1000 AS", "NEW.delay_ms * 1 AS"},
	{"TestTheDedupeKeysOfOutboxAndOfPublishAreTheSame", "runtime/internal/sqlite/tables/schema.sql",
		"SELECT RAISE(IGNORE)", "SELECT 0"},
	{"TestShutdownWaitsForThirtySecondsByDefault", "runtime/options.go",
		"defaultShutdownTimeout = 30 *", "defaultShutdownTimeout = 90 *"},
	{"TestAHighPriorityOvertakesAndALowOneIsNotStarved", "runtime/internal/dispatch/queue/queue.go",
		"const patience = 8", "const patience = 12"},
	{"TestSubscriptionsShareALimit", "runtime/internal/limit/bucket.go",
		"b.used+n <= b.limit.AtOnce", "b.used+n <= b.limit.AtOnce+1"},
	{"TestALimitIsFreeBetweenTheAttemptsOfAnEvent", "runtime/internal/dispatch/site.go",
		"	r.granted().Release()\n", ""},
	{"TestNestedEventsWithLimitsDoNotDeadlock", "runtime/internal/dispatch/places.go",
		"	a.run.granted().Lend()\n", ""},
	{"TestDeliveriesInMemoryNeedTheLimitsThatAreTunedIn", "runtime/internal/dispatch/keys.go",
		"return keyed(uses)", "return false"},
	{"TestRatesHoldOverRestartsAndLoseNothing", "runtime/limit.go",
		"log.ReturnLimits(context.Background(), unused)", "error(nil)"},
	{"TestAGroupResumesAtTheMemberThatFailed", "runtime/internal/dispatch/run.go",
		"v.Progress = encodeProgress(r.done, r.Progress)", "v.Progress = r.Progress"},
	{"TestEventsPublishedByAMemberAreStoredWithItsSuccess", "runtime/internal/dispatch/run.go",
		"		v.Staged = append(v.Staged, r.staged...)\n", ""},
	{"TestAMemberWithAnOpenBreakerIsSkippedAndMissesNoEvent", "runtime/internal/dispatch/run.go",
		"	if r.reopens.IsZero() {\n		s.settle", "	if len(r.done) > 0 {\n		s.settle"},
	{"TestAKeyOfAHandlerIsRememberedWithItsSuccess", "runtime/internal/sqlite/batch.go",
		"if d := e.Dedupe; d != nil {", "if d := e.Dedupe; d != nil && e.Seq < 0 {"},
	{"TestEachTimeOfAScheduleIsPublishedOnce", "runtime/internal/sqlite/schedules.go",
		"AND passed = ?\", p.To,", "AND passed = ?\", p.From,"},
	{"TestTheCatalogueSaysHowManyHandlersRunAtOnce", "runtime/tuning.go",
		"settings.Concurrency < f.concurrency", "settings.Concurrency > f.concurrency"},
	{"TestTheCatalogueSaysWhichSubscriptionsHaveAStrictOrder", "runtime/tuning.go",
		"f.strict || settings.StrictOrder", "f.strict"},
	{"TestADeclaredGroupHandlesAnEventInTheOrderOfTheCatalogue", "runtime/group.go",
		"slices.Index(g.members, a.name) - slices.Index(g.members, b.name)", "slices.Index(g.members, a.name)*0"},
	{"TestAStartWithoutAMemberOfADeclaredGroupIsRefusedAndNamesIt", "runtime/group.go",
		"if len(missing) > 0 {", "if len(missing) < 0 {"},
	{"TestAGroupThatMovesIntoTheCatalogueGoesOnWhereItWas", "runtime/bus.go",
		"if s.Group == \"\" { // else", "if s.Group != \"-\" { // else"},
	{"TestAnAttemptWithoutATimeoutMayTakeAsLongAsItLikes", "runtime/internal/dispatch/attempt.go",
		"cmp.Or(a.settings.Timeout, unlimited)", "cmp.Or(a.settings.Timeout, time.Minute)"},
	{"TestADeadLetterOfACriticalEventIsAnAlert", "runtime/internal/dispatch/attempt.go",
		"a.run.Priority == queue.Critical", "a.run.Priority == queue.High"},
	{"TestABatchOfCriticalEventsThatFailsAsAWholeIsOneAlertUntilSomethingIsHandled", "runtime/batch.go",
		" || m.given.Swap(true)", ""},
	{"TestAnEphemeralSubscriptionSaysHowManyPrunedEventsItHasPassedOver", "runtime/internal/sqlite/watch.go",
		"passed = end - first - left", "passed = left - left"},
	{"TestWhoFollowsTheLogGetsEachEventOnceInItsOrder", "runtime/internal/sqlite/inspect_event.go",
		"end.Seq, end.ID = last.seq, last.ID", "end.ID = last.ID"},
	{"TestAnEventThatFailsForALongTimeIsReportedAsSlowOnce", "runtime/slow_event.go",
		"e.reported[id] = struct{}{}", "delete(e.reported, id)"},
	{"TestTheCatalogueSaysAfterWhatTimeAnEventIsSlow", "runtime/slow_event.go",
		"	limit := (*innerSubscription)(c).settingsOf(a.Type).SlowEventAfter", "	limit := (*innerSubscription)(c).settingsOf(a.Type).SlowEventAfter * 0"},
	{"TestEventsOfOneKeyAreInOneBatchOrInOneAfterTheOther", "runtime/internal/dispatch/queue/gathering.go",
		"	p.enter(i.Seq)\n	i.entered = true\n}", "	p.enter(i.Seq)\n	p.running--\n	i.entered = true\n}"},
	{"TestAnEventThatAlwaysBreaksItsBatchDoesNotTakeOthersWithIt", "runtime/internal/dispatch/gather.go",
		"if i.Failures == 0 {", "if i.Failures < 1000 {"},
	{"TestABatchWithAPoisonEventIsHalvedUntilItIsFound", "runtime/internal/ledger/crash.go",
		"return (n + 1) / 2", "return n"},
	{"TestAProcessThatIsKilledAllTheTimeMakesNoDeadLettersOfABatch", "runtime/internal/ledger/crash.go",
		"r.Uncounted += unknown + 1\n	if v.Again", "r.Failures++\n	if v.Again"},
	{"TestAHalfIsHalvedWhateverWasLeftBehindBesideIt", "runtime/internal/ledger/crash.go",
		"min(v.Together, half(c.Together))", "v.Together"},
	{"TestSuspectsThatWereInNoBatchRunOneAtATime", "runtime/internal/ledger/crash.go",
		"case c.Batch:", "default:"},
	{"TestEachKeyKeepsItsOrderWhileABatchIsHalved", "runtime/internal/sqlite/recover.go",
		"if verdict.Again {", "if false {"},
	{"TestNothingRunsBesideAHalf", "runtime/internal/dispatch/gather.go",
		"!g.gate.pass(first.Suspect) {", "!g.gate.pass(first.Suspect && len(g.Items) == 1) {"},
	{"TestHalvesDoNotWaitForMore", "runtime/internal/dispatch/gather.go",
		"(g.Items[0].Suspect || g.cfg", "(g.cfg"},
	{"TestASuspectThatAnotherOneHasKeptFromBeingTriedStaysOne", "runtime/internal/ledger/turn.go",
		" && !v.NotCalled", ""},
	{"TestASuspectStaysOneUntilItsHandlerIsCalled", "runtime/internal/dispatch/failure.go",
		"a.first && f.decode != nil", "false"},
	{"TestOfTheCrashesOfASuspectWithOthersOnlyTheFirstCounts", "runtime/internal/ledger/crash.go",
		"if v.How == Alone {", "if v.How == Alone || r.Suspect() {"},
	{"TestAnEventIsNotDeadOfACrashAfterItWasSnoozed", "runtime/internal/ledger/turn.go",
		"Cleared: called || v.Attempt != nil", "Cleared: v.Attempt != nil"},
	{"TestACrashEndsThePolicyOfAnErrorsClass", "runtime/internal/ledger/crash.go",
		"r.MaxAttempts, r.Crashed, r.Together, r.OpenCrash = 0, true", "r.Crashed, r.Together, r.OpenCrash = true"},
	{"TestADeadLetterWhoseLastAttemptWasNoCrashIsACanaryAndRedriven", "runtime/internal/sqlite/inspect_filter.go",
		"\"NOT \" + diedOfCrash", "\"NOT d.suspect\""},
	{"TestADiscardIsSettledAlthoughTheHandlerFailsBeforeItIsSeen", "runtime/internal/ledger/turn.go",
		"case now.Cancelled: // it", "case false: // it"},
	{"TestTheUndoOfADiscardBeginsAnewAndIsDueNow", "runtime/internal/ledger/row.go",
		"	d.Uncounted += d.Failures\n", ""},
	{"TestADiscardIsNoDeadLetterAlthoughTheLastAttemptFailsBeforeItIsSeen", "runtime/internal/sqlite/flush.go",
		"if d.Kind == engine.Done {", "if d.Kind == engine.Done || d.Kind == engine.Dead {"},
	{"TestADiscardThatIsSaidAgainKeepsItsFirstReason", "runtime/internal/sqlite/cancel.go",
		"DO UPDATE SET answer", "DO UPDATE SET reason = excluded.reason, answer"},
	{"TestADeadLetterThatIsRestoredKnowsHowOftenItWasExecuted", "runtime/internal/sqlite/inspect_discard.go",
		"coalesce(x.uncounted, max(0", "coalesce(NULL, max(0"},
	{"TestAMemberThatHasHandledAnEventIsNotCalledAgainAfterTheUndoOfItsDiscard", "runtime/internal/sqlite/tables/rows.go",
		"iif(?5 IS NULL, d.progress, ?6)", "d.progress"},
	{"TestAStrictOrderDoesNotWaitForDelayedEventsAndRetriedDeadLetters", "runtime/internal/dispatch/site.go",
		"s.cfg.Strict && !i.Exempt &&", "s.cfg.Strict &&"},
	{"TestAStrictOrderWaitsForWhateverWasPutOff", "runtime/internal/sqlite/poll.go",
		"(d.since IS NULL OR d.due_at > d.since)", "d.since IS NULL"},
	{"TestAnEventDoesNotDieOfItsBatchWhateverMakesAnAttemptTheLastOne", "runtime/internal/dispatch/gather.go",
		"range settings.Errors {", "range settings.Errors[:0] {"},
	{"TestAClockThatWasWrongByDecadesPublishesNoMillionsOfMissedTimes", "runtime/timetable.go",
		"missedLimit = 10_000", "missedLimit = 9_000"},
	{"TestWhatABatchPublishesIsStoredWithItsSuccess", "runtime/internal/dispatch/batch_judge.go",
		"len(whole.staged()) > 0 && b.allSucceed(failures, now)", "len(whole.staged()) > 0"},
	{"TestASaturatedSubscriptionSaysSoOncePerEpisode", "runtime/saturation.go",
		"	case l.saturated:\n", "	case l.saturated && l.share < saturatedTo:\n"},
	{"TestABusySubscriptionThatKeepsUpIsNotSaturated", "runtime/saturation.go",
		"backlog-first.size >= max(saturatedGrowth, first.size/100) && ", ""},
	{"TestAProbeNeverLeavesTheSubscriptionStuck", "runtime/internal/dispatch/failure.go",
		"	a.failPermit(now, fmt.Sprint(a.shown(f.text)))\n", "	if f.kind != event.KindExit {\n		a.permit.Failure(now, f.text)\n	} else {\n		a.withdraw()\n	}\n"},
	{"TestNoStepOfTheClockMakesAnythingWaitLonger", "runtime/internal/sqlite/clock.go",
		"err = shiftWaits(c, back)", "err = nil"},
	{"TestAStepOfTheClockIsFollowedOnce", "runtime/internal/sqlite/clock.go",
		"o.owns.Load() && o.back > 0", "o.back > 0"},
	{"TestADelayedEventFollowsTheWallClock", "runtime/internal/sqlite/clock.go",
		" AND wait IS NOT NULL", ""},
	{"TestThePublisherCanShortenTheTimeoutOfAnEvent", "runtime/internal/dispatch/config.go",
		"with.Timeout = tighter(s.Timeout, o.Timeout)", "with.Timeout = max(s.Timeout, o.Timeout)"},
	{"TestAHandlerThatSnoozesForEverEndsInTheDeadLetters", "runtime/internal/dispatch/failure.go",
		"a.Snoozes >= settings.MaxSnoozes", "a.Snoozes > settings.MaxSnoozes"},
	{"TestTheCountOfSnoozesSurvivesRestartsAndFailures", "runtime/internal/sqlite/tables/rows.go",
		"snoozes = excluded.snoozes", "snoozes = 0"},
	{"TestOnlySnoozesThatHandlersAskForCount", "runtime/internal/ledger/turn.go",
		"if v.Asked {", "if v.Kind == engine.Snooze {"},
	{"TestASnoozeBeyondTheExpiryMakesADeadLetter", "runtime/internal/dispatch/failure.go",
		"until.Sub(a.Since) >= settings.ExpiresAfter:", "until.Sub(a.Since) >= 2*settings.ExpiresAfter:"},
	{"TestTheContextOfAHandlerEndsWithItsEvent", "runtime/internal/dispatch/failure.go",
		"a.withdraw() // the event had little time", "a.permit.Failure(now, fmt.Sprint(a.shown(f.text))) // the event had little time"},
	{"TestAGroupStopsWhenItsEventExpires", "runtime/internal/dispatch/attempt.go",
		"a.limit, a.expires = max(0, left), true", "a.expires = true"},
	{"TestTheEventsViewCountsFromTheLastRedrive", "runtime/internal/sqlite/tables/rows.go",
		"SET history = excluded.history, at", "SET at"},
	{"TestASuccessAfterFailuresUpdatesTheEventsView", "runtime/internal/sqlite/tables/rows.go",
		"0, ?3 WHERE EXISTS", "0, ?3 WHERE NOT EXISTS"},
	{"TestTimesThatWereMissedArePublishedAsTheScheduleSays", "runtime/timetable.go",
		"} else if last := s.times.Last(s.next, now); !last.IsZero() {", "} else if last := s.times.Last(s.next, now); false {"},
	{"TestAnIntervalIsNotMovedByARestart", "runtime/timetable.go",
		"s.rule.Times(state.Since)", "s.rule.Times(t.now())"},
	{"TestStatusStopsCountingAndSaysSo", "runtime/internal/sqlite/inspect_status.go",
		"status.More = true", "status.More = false"},
	{"TestStatusListsDeliveriesThatAreSnoozedAgainAndAgain", "runtime/internal/sqlite/inspect_status.go",
		"d.snoozes >= ?2 OR began <= ?3", "d.snoozes >= ?2 AND began <= ?3"},
	{"TestAnImmediateEventIsStoredWhateverBecomesOfTheHandler", "runtime/publish.go",
		"return b.attempt != nil && !b.config.immediately", "return b.attempt != nil"},
	{"TestAnImmediateEventDoesNotWaitForTheWallClock", "runtime/internal/sqlite/batch.go",
		"		return tables.AtOnce\n", "		return r.Due\n"},
	{"TestAHandlerWaitsForAChildInItsOwnSubscription", "runtime/internal/dispatch/places.go",
		"lent := s.places.lend(a)", "lent := false"},
	{"TestAnAwaitedEventOvertakesEverything", "runtime/internal/dispatch/intake.go",
		"seqs := in.queue.ToPoll(time.Now())", "seqs := in.queue.ToPoll(time.Now())[:0]"},
	{"TestAWaitingHandlerLendsItsPartitionKey", "runtime/internal/dispatch/places.go",
		"case !p.queue.Free(r.Key):", "case false:"},
	{"TestAHandlerWaitsInSeveralGoroutines", "runtime/internal/dispatch/places.go",
		"if l == nil || l.waits > 0 {", "if l == nil {"},
	{"TestAParentThatIgnoresItsContextIsLeftBehind", "runtime/internal/dispatch/places.go",
		"case <-a.Done():", "case <-ctx.Done():"},
	{"TestAWaitEndsWithItsContextAndTheChildGoesOn", "runtime/internal/dispatch/places.go",
		"	case <-ctx.Done():\n", "	case <-a.run.site.stopping:\n"},
	{"TestTreesOfWaitingHandlersComeToAnEnd", "runtime/internal/dispatch/gate.go",
		"return int(g.active.Load()) >= g.places()", "return false"},
	{"TestHandlersThatEndInOddWaysGiveTheirPlacesBack", "runtime/internal/dispatch/crew.go",
		"	c.open(loan)\n	c.leave(loan)", "	c.open(nil)\n	c.leave(loan)"},
	{"TestAnOpenBreakerHoldsAwaitedEvents", "runtime/internal/dispatch/places.go",
		"b.Status(time.Now()).State == breaker.HalfOpen", "b.Status(time.Now()).State == breaker.Open"},
	{"TestAChildThatKillsItsProcessIsFoundAndItsParentGoesOn", "runtime/internal/dispatch/places.go",
		"p.consumer.SetWaiting(a.Delivery, true)", "p.consumer.SetWaiting(a.Delivery, false)"},
	{"TestAHandlerThatGoesOnAfterItsWaitIsASuspectAgain", "runtime/internal/dispatch/places.go",
		"p.consumer.SetWaiting(l.attempt.Delivery, false)", "p.consumer.SetWaiting(l.attempt.Delivery, true)"},
	{"TestHandlersCannotWaitInACircle", "runtime/internal/dispatch/waiting.go",
		"path != nil || seq == of.Seq {", "seq == of.Seq {"},
	{"TestWhatAFailedAttemptHasLoggedIsKeptWithIt", "runtime/internal/dispatch/failure.go",
		"Log: a.closeJournal()", "Log: \"\""},
	{"TestASuspectThatComesBackByForceLeavesTheBusToTheOthers", "runtime/internal/dispatch/places.go",
		"	l.attempt.run.alone = false\n", ""},
	{"TestPublishMiddlewareWritesMetadata", "runtime/middleware.go",
		"	r.Metadata = metadata\n", "	_ = metadata\n"},
	{"TestAPublishMiddlewareRefusesEvents", "runtime/middleware.go",
		"if err := m.see(ctx, p); err != nil {", "if err := m.see(ctx, p); err != nil && i > 0 {"},
	{"TestMiddlewareStandsAroundEveryHandler", "runtime/middleware.go",
		"range [][]Middleware{s.config.middleware, s.bus.config.middleware}", "range [][]Middleware{s.bus.config.middleware, s.config.middleware}"},
	{"TestAMiddlewareCallsTheHandlerOnceAnAttemptWithWhatItWasGiven", "runtime/internal/dispatch/staging.go",
		"	a.entered = true\n", "	a.entered = false\n"},
	{"TestASubscriptionThatIsRemovedIsGoneWithItsBacklogAndStartsAsNew", "runtime/steer.go",
		"if f != nil && running {", "if f != nil && !running {"},
	{"TestAnEphemeralSubscriptionRetriesAndThenDropsTheEvent", "runtime/internal/ephemeral/consumer.go",
		"&again{after.Delivery, after.Due}", "&again{own.known(), after.Due}"},
	{"TestWhatAnEphemeralHandlerPublishesIsStoredIfItSucceeds", "runtime/ephemeral.go",
		"if err := handle(a); err != nil {\n			return err\n		}\n", "if err := handle(a); err != nil {\n			a.TakeStaged()\n			return err\n		}\n		if a.Number > 0 {\n			return nil\n		}\n"},
	{"TestAnEditedDeadLetterIsForItsSubscriptionAndNotForEphemeralOnes", "runtime/internal/sqlite/watch.go",
		"NOT (?5 AND due_at", "NOT (?5 AND FALSE AND due_at"},
	{"TestAShutdownEndsTheWaitsOfHandlers", "runtime/internal/dispatch/attempt.go",
		"case interrupted, f.stopped && s.stopped.Load():", "case interrupted:"},
	{"TestAnEventIsEitherCancelledOrBegun", "runtime/internal/sqlite/cancel.go",
		"!own.settled && !own.started.IsZero()", "own.settled && !own.started.IsZero()"},
	{"TestAnEventThatRanAtACrashIsCancelled", "runtime/internal/sqlite/cancel_event.go",
		"d.State == event.StateRunning && d.cancelled", "d.State == event.StateRunning && !d.cancelled"},
	{"TestAwaitSinceReturnsTheOldestEventThatMatches", "runtime/internal/sqlite/watch.go",
		"w.after = first - 1", "w.after = first"},
	{"TestFindYieldsTheNewestEventsThatMatchFirst", "runtime/internal/sqlite/inspect_events.go",
		"order := \"DESC\"", "order := \"ASC\""},
	{"TestFindEndsAsSoonAsTheShutdownBegins", "runtime/lifecycle.go",
		"	waiting.Go(func() { errs[len(feeds)] = b.past.close() })", "	defer b.past.close()"},
	{"TestAReplayFromAPlaceDeliversExactlyTheRangeToOneSubscription", "runtime/internal/sqlite/inspect_replay.go",
		"max(r.last, from-1)", "max(r.last, from)"},
	{"TestAReplayIsMarkedUntilItIsSettled", "runtime/internal/sqlite/inspect_replay.go",
		"'waiting', 0, ?3, 0, ?3, 1,", "'waiting', 0, ?3, 0, ?3, 0,"},
	{"TestTheFirstAnswerByTimeWinsAndTheLosersContextEnds", "runtime/exchange.go",
		"!a.Lose(ask.ErrAnswered, answeredBy(enough))", "a == nil"},
	{"TestZeroValuesAndNilAreAnswers", "runtime/exchange.go",
		"if err == nil && !t.x.over {", "if err == nil && value != nil && !t.x.over {"},
	{"TestALoserThatHasNotBegunIsNotCalled", "runtime/exchange.go",
		"	case x.enough != \"\":\n", "	case false:\n"},
	{"TestALoserThatPanicsOrOutlivesItsTimeHasNotFailed", "runtime/internal/dispatch/failure.go",
		"if a.extra.Load().interruption.lost != \"\" {", "if false {"},
	{"TestWhatAnEarlierAttemptOfTheWinnerHasPublishedIsHandled", "runtime/exchange.go",
		"!a.Lose(ask.ErrAnswered, answeredBy(enough))", "!a.Lose(ask.ErrAnswered, answeredBy(enough)) && a == nil"},
	{"TestAFunctionFindsTheEventsOfThoseBeforeIt", "runtime/internal/sqlite/sqlapi/session.go",
		"return s.shared.mark(raw).reads ||", "return"},
	{"TestEventsThatWereWrittenForAFunctionThatFailsAreStoredAllTheSame", "runtime/internal/sqlite/relay.go",
		"	r.held = turn.heldBefore", "	// r.held = turn.heldBefore"},
	{"TestAFunctionWhoseEventCannotBeWrittenFailsAlone", "runtime/internal/sqlite/relay.go",
		"	if r.writeHeld() != nil {\n		return errBeginAnew\n", "	if r.writeHeld() != nil {\n		return nil\n"},
	{"TestRowsAndEventsAreStoredTogether", "runtime/publish.go",
		"	if b.tx != nil {\n		return b.unlessSame", "	if b.tx == nil && b.staged() {\n		return b.unlessSame"},
	{"TestAfterAnErrorNothingIsStored", "runtime/internal/sqlite/relay.go",
		"	if r.alone {\n		return errBeginAnew\n", "	if r.alone {\n		return nil\n"},
	{"TestAFunctionThatFailsBesideOthersIsTakenBackAlone", "runtime/internal/sqlite/relay.go",
		"if err := r.writer.conn.Exec(\"ROLLBACK TO \" + sqlapi.Savepoint); err != nil {", "if err := error(nil); err != nil {"},
	{"TestSixtyFourCallersOfWhomSomeDoWrong", "runtime/internal/sqlite/transact.go",
		"if err == nil && n != 0 {", "if err == nil && n < 0 {"},
	{"TestRowsOfAHandlerAreStoredWithItsSuccess", "runtime/tx_handler.go",
		"return s.bus.commit(a, true, func(*txRun) error { return nil })", "return nil"},
	{"TestATransactionThatCannotBeStoredDoesNotCountAsAnAttempt", "runtime/tx_handler.go",
		"return &errs.UncommittedError{Err: err}", "return err"},
	{"TestAfterAStatementHasRolledBackAllNothingMoreIsWritten", "runtime/internal/sqlite/sqlapi/session.go",
		"	case s.lost:\n		return ErrLost\n", ""},
	{"TestAStatementThatNeedsTooMuchMemoryFailsAlone", "runtime/internal/sqlite/relay.go",
		"	if broken != nil || turn.session.Lost() {\n", "	if broken != nil {\n		return broken\n	}\n	if turn.session.Lost() {\n"},
	{"TestHoweverAFunctionEndsTheOthersAreStored", "runtime/internal/sqlite/transact.go",
		"			turn.end(errUnwinding)\n", "			turn.end(nil)\n"},
	{"TestACallThatWouldWaitForItsOwnTransactionFailsWithinTheLimit", "runtime/internal/sqlite/relay.go",
		"r.writer.recheck(turn)", "_ = r.writer.recheck"},
	{"TestAConversionThatCallsTheBusIsToldThatItIsInATransaction", "runtime/internal/sqlite/programs.go",
		"frame.Function == callName {", "frame.Function == \"\" {"},
	{"TestAFunctionMayWaitForATransactionThatIsNotItsOwn", "runtime/internal/sqlite/programs.go", // the stack alone
		"(t.goroutine == number || t.goroutine == 0 && n > 0)", "true"},
	{"TestADeadlineThatPassesDuringTheCommitEndsNoAttempt", "runtime/internal/dispatch/attempt.go",
		"case a.storing || !a.late", "case !a.late"},
	{"TestAHandlerWhoseFileIsMovedAwayStoresNothing", "runtime/internal/sqlite/rescue.go",
		"beat.Passed(o.files.placed, pollDelay)", "beat.Passed(o.files.placed, 1000*pollDelay)"},
	{"TestAConflictIsLookedForAnewWhenAllIsRolledBack", "runtime/internal/sqlite/batch.go",
		"	r.refused = nil // what", "	// what"},
	{"TestAFunctionThatWaitsForAnotherTransactionIsNotCalledAfterItsContextHasEnded", "runtime/internal/sqlite/transact.go",
		"	err := ctx.Err() // it may", "	err := error(nil) // it may"},
	{"TestAFunctionRunsAgainWhenAnotherRollsBackAll", "runtime/internal/sqlite/agenda.go",
		"errors.Is(err, errBeginAnew) || ", "errors.Is(err, errUnwinding) || "},
	{"TestAFunctionThatWasRefusedRunsAgainWhenAllIsRolledBack", "runtime/internal/sqlite/relay.go",
		"p.final = r.alone || !r.wrote ||", "p.final = true ||"},
	{"TestManyFunctionsThatRollBackAllCostNoMoreThanAFewReruns", "runtime/internal/sqlite/transact.go",
		"anewLimit = 4", "anewLimit = 4000"},
	{"TestATransactionThatHasTakenLongLeavesTheRestToTheNext", "runtime/internal/sqlite/transact.go",
		"groupTime = 50 * time.Millisecond", "groupTime = 50 * time.Second"},
	{"TestABusWhoseEventsHaveAnotherPayloadIsNotOpened", "runtime/internal/privacy/compare.go",
		"len(d.Lacks) > 0 && len(d.Extra) > 0", "len(d.Lacks) > 99"},
	{"TestATextWithANULIsRefused", "runtime/internal/sqlite/sqlapi/shared.go",
		"strings.IndexByte(query, 0); at >= 0", "strings.IndexByte(query, 0); at >= len(query)"},
	{"TestWhatATransactionMustNotDoIsRefusedInWords", "runtime/internal/sqlite/sqlapi/guard.go",
		"if !strings.HasPrefix(schema, \"vacuum_\") || g.within {", "if !strings.HasPrefix(schema, \"vacuum_\") && !g.within {"},
	{"TestAKeyInAHandlerIsLookedUpWhenTheHandlerPublishes", "runtime/dedupe.go",
		"func() error { return b.bus.log.Recognise(ctx, b.records) }", "ctx.Err"},
	{"TestABatchInAHandlerThatIsRefusedLeavesNoKeyBehind", "runtime/internal/dispatch/staging.go",
		"keys = maps.Clone(keys) // on", "keys = maps.Clone(keys); a.stash.keys = keys // on"},
	{"TestTheMembersOfAGroupShareTheirKeys", "runtime/internal/dispatch/staging.go",
		"if a.run.members != nil {\n			for", "if a.run.members == nil {\n			for"},
	{"TestOfTwoHandlersWithOneKeyTheFirstToSucceedIsStored", "runtime/internal/sqlite/dedupe.go",
		"return err == nil && !r.Duplicate, nil", "return err == nil, nil"},
	{"TestAnEventOfAHandlerWhoseKeyIsTakenByAnotherPayloadIsDroppedAndLogged", "runtime/internal/sqlite/dedupe.go",
		"	if err != nil && !isConflict(err) {\n", "	if err != nil {\n"},
	{"TestAnEventTypeGivesItsEventsTheKeyOfAField", "runtime/dedupe.go",
		"if b.config.dedupeKey != \"\" || b.config.unkeyed {", "if b.config.unkeyed {"},
	{"TestEachEventOfABatchHasTheKeyOfItsField", "runtime/internal/sqlite/dedupe.go",
		"		if len(events) == 1 {", "		if len(events) > 0 {"},
	{"TestAQuestionHasNoKeyOfAField", "runtime/answers.go",
		"batch.config.unkeyed = true", "batch.config.unkeyed = false"},
	{"TestWhatALoserHasPublishedWithADedupeKeyIsHandled", "runtime/waiting.go",
		"r.Duplicate || r.Dedupe != nil", "r.Duplicate"},
	{"TestIdleBusesLookAtTheSameMoments", "runtime/internal/sqlite/lookout.go",
		"return beat.Until(pollDelay)", "return pollDelay - time.Since(lo.looked)"},
	{"TestPruningDoesNotReadTheEventsOfDeadLettersAgain", "runtime/internal/sqlite/prune.go",
		"err != nil || rowed != events", "err != nil || rowed != events && rowed == 0"},
	{"TestATakeoverReadsNoMoreDeadLettersThanItCounts", "runtime/internal/sqlite/clock.go",
		"found.Dead == most", "found.Dead < 0"},
	{"TestADelayedEventWakesItsOwnSubscriptions", "runtime/internal/sqlite/consumers.go",
		"busgen_routes WHERE type = ?", "busgen_routes WHERE ? > 0"},
	{"TestTheSearchForUnhandledEventsPassesDeadLetters", "runtime/internal/sqlite/backlog.go",
		"subscription = ?1 ORDER BY seq LIMIT ?2", "subscription = ?1 AND state <> 'dead' ORDER BY seq LIMIT ?2"},
	{"TestTheLogOfAnotherFileIsNotReadIntoOneThatIsMovedBack", "runtime/internal/sqlite/tables/look.go",
		"(with == nil || bytes.Equal(alone, with))", "(with != nil || bytes.Equal(alone, with))"},
	{"TestTheLogOfAnotherFileIsNotReadIntoOneThatIsMovedBack", "runtime/internal/sqlite/tables/schema.go",
		"c.Signature = signature", "c.Signature = \"\""},
	{"TestWhatAnOwnerSaysAboutItsFileGivesAllAcknowledgedEventsBack", "runtime/internal/sqlite/rescue.go",
		"	return err == nil\n", "	return err != nil && err == nil\n"},
	{"TestReadersThatOverlapDoNotMakeTheLogGrow", "runtime/internal/sqlite/database/checkpoint.go",
		"c.wal.pages < max(c.wal.again, WALLimit)", "c.wal.pages > max(c.wal.again, 0)"},
	{"TestAReaderThatHoldsTheLogIsSaidOnceAndTheLogIsEmptiedWhenItHasEnded", "runtime/internal/sqlite/agenda.go",
		"		h.said = true\n", "		h.said = false\n"},
	{"TestAnObserverThatBlocksIsLeftBehindAsAHandlerAndWhatTheHandlerHasDoneStands", "runtime/internal/dispatch/attempt.go",
		"a.pay(true)\n\ta.left = true", "a.left = true"},
	{"TestAShutdownDoesNotWaitForAnObserverThatBlocksAndWhatTheHandlerHasDoneStands", "runtime/internal/dispatch/attempt.go",
		"a.pay(true) // an observer blocks", "a.mu.Unlock()\n\t\treturn"},
	{"TestAMemberWhoseObserverBlocksIsNotCalledAgainAfterAShutdown", "runtime/internal/dispatch/told.go",
		"v := a.run.release()", "v := engine.Disposition{Kind: engine.Release}"},
	{"TestAFunctionThatMatchesErrorsAndBlocksDoesNotKeepATimeoutFromComing", "runtime/internal/dispatch/failure.go",
		"forced && len(settings.Errors) > 0", "forced && len(settings.Errors) > 99"},
	{"TestALogHandlerThatBlocksHoldsUpNothing", "runtime/internal/guard/logger.go",
		"Patience = 100 * time.Millisecond", "Patience = 100 * time.Hour"},
	{"TestASecondShutdownKeepsToItsContext", "runtime/lifecycle.go",
		"case <-b.stopped:\n\t\t\treturn nil\n\t\tcase <-ctx.Done():\n\t\t\treturn ctx.Err()", "case <-b.stopped:\n\t\t\treturn nil"},
	{"TestEveryCallKeepsToItsContextWhateverBlocks", "runtime/subscribe.go",
		"b.log.LetGo(late, f.consumer)", "b.log.LetGo(context.WithoutCancel(late), f.consumer)"},
	{"TestSubscribeIsBoundedAndHoldsUpNoOtherCallWhileAnotherProcessHoldsTheLock", "runtime/lifecycle.go",
		"case <-l.stopRequested:\n\t\t\tcancel()", "case <-l.stopRequested:"},
	{"TestWhatHandlersHaveDoneIsWrittenWhenTheLockIsFreeBeforeTheShutdownHasToEnd", "runtime/internal/sqlite/log.go",
		"lasting := ctx != nil", "lasting := ctx == nil"},
	{"TestWhoSubscribesAgainFindsWhatWasUnsubscribedUnderTheLockSettled", "runtime/internal/sqlite/consumers.go",
		"		if other.name == name {\n			cs.writer.hasten()", "		if other.name == \"\" {\n			cs.writer.hasten()"},
	{"TestAKillCountsForNoHandlerThatWasNotCalled", "runtime/internal/sqlite/claims/sync.go",
		"	go s.run(c.file)\n", "	s.mu.Unlock()\n	s.run(c.file)\n	s.mu.Lock()\n"},
	{"TestACrashLoopMakesNoDeadLettersOfWhatHappensToRun", "runtime/internal/dispatch/core.go",
		"	if until == nil || !", "	if until == nil || "},
	{"TestACrashLoopMakesNoDeadLettersOfEventsWhoseKeysHappenToBeComputed", "runtime/internal/dispatch/keys.go", // as if keys called nothing of the program
		"return in.callsForKeys(i, known)", "return known && false"},
	{"TestACrashLoopEndsWithAShutdownOrAProcessThatLives", "runtime/internal/sqlite/owner.go",
		"o.claims.SetAge(claims.Grown)", "o.claims.SetAge(age)"},
	{"TestACrashLoopMakesOneDeadLetterOfEventsThatAreTriedOnce", "runtime/internal/sqlite/claims/age.go",
		"return age == Looping", "return false"},
	{"TestNobodyHavingAnAnswerIsAnErrorOfItsOwn", "runtime/exchange.go",
		"return fmt.Errorf(\"%s %s: %w\", s.typ, s.id, ask.ErrNoAnswer)", "return &ask.NoAnswererError{EventType: s.typ}"},
	{"TestAnEventIsSyncedBeforeItIsAcknowledgedAndADispositionIsNot", "runtime/internal/sqlite/requests.go",
		"return len(r.events) > 0 || r.full", "return r.full"},
	{"TestPublishersThatWaitForASyncShareTheNextOne", "runtime/internal/sqlite/writer.go", // each has a transaction of its own
		"r.alone() && n > 0 {", "n > 0 {"},
	{"TestTornClaimsAreIgnored", "runtime/internal/sqlite/claims/claim.go",
		"	if crc32.Checksum(b[:28], castagnoli) != binary", "	if crc32.Checksum(b[:28], castagnoli) == 0 && 0 != binary"},
	{"TestExhaustedCountsTheFirstExecution", "runtime/retry/policy.go",
		"failures >= p.MaxAttempts", "failures > p.MaxAttempts"},
	{"TestDelayFollowsTheFormulaOfItsBackoff", "runtime/retry/policy.go",
		"float64(n-2)", "float64(n-1)"},
	{"TestJitterOfAKnownEventNeverChanges", "runtime/retry/jitter.go",
		"	return h ^ h>>31", "	return h"},
	{"TestTheQueueKeepsTheOrderOfEachKey", "runtime/internal/dispatch/queue/queue.go", // a key is free while its delivery runs
		" || p.running > 0 || p.lent > 0 }", " || p.lent > 0 }"},
	{"TestWorkThatIsTriedAgainIsOneSample", "runtime/breaker/failures.go",
		"	if work == 0 || len", "	if work != 0 || len"},
	{"TestTheLatestOutcomeOfWorkCounts", "runtime/breaker/breaker.go", // a success leaves the failure
		"b.window.remove(step, count{samples: 1, failures: 1})", "b.window.remove(step, count{samples: 1})"},
	{"TestTheNumberOfRememberedFailuresIsBounded", "runtime/breaker/failures.go",
		"len(f.steps) >= remembered", "len(f.steps) > remembered"},
	{"TestAFixedTimeComesOnceOnTheDaysOnWhichTheClockIsChanged", "internal/schedule/next.go",
		"has just gone forward over it\n			return t.UTC()", "has just gone forward over it\n			return at.UTC()"},
	{"TestAnExpressionForEveryHourKeepsItsPaceWhenTheClockIsChanged", "internal/schedule/next.go",
		"	if c.hours == everyHour {", "	if c.hours < 0 {"},
	{"TestADeliveryThatBeginsAnewIsNotCancelled", "runtime/internal/sqlite/inspect_replay.go",
		`			if err := tables.ForgetCancelled(c, place); err != nil {
				return err
			}
`, ""},
	{"TestAReplayGivesOnlyWhatIsStillHandled", "runtime/internal/sqlite/inspect_replay.go",
		"	WHERE l.seq = ?2 AND l.id = ?4 AND ` + handled", "	WHERE l.seq = ?2 AND ?4 NOTNULL AND ` + handled"},
	{"TestTheFileForgetsTheKeysOfRatesThatAreFullAgain", "runtime/internal/sqlite/limits.go",
		"const limitsForgotten = 4", "const limitsForgotten = 0"},
	{"TestABreakerOpensWhenTooManyOutcomesAreFailures", "runtime/breaker/policy.go",
		"float64(c.samples) > p.Threshold", "float64(c.samples) >= p.Threshold"},
	{"TestOldFailuresDoNotOpenABreaker", "runtime/breaker/window.go", // nothing leaves the window
		"		s.total.remove(*c)\n", "		_ = c\n"},
	{"TestClaimsAreReadByTheNextOwner", "runtime/internal/sqlite/claims/claims.go", // what has ended is said to run
		"p.last.Running, p.last.Waits = running, waits", "p.last.Running, p.last.Waits = max(running, seq), waits"},
	{"TestSettledEventsArePrunedAndOpenOrDeadOnesAreNot", "runtime/internal/sqlite/prune.go", // what is in the log only is deleted
		"AND s.cursor < l.seq)", "AND s.cursor < 0)"},
	{"TestNumbersAreNotReusedWhenEverythingIsPruned", "runtime/internal/sqlite/prune.go", // the newest is deleted, too
		"	return min(low, high), err\n", "	return min(low, high) + 1, err\n"},
	{"TestTooMuchPendingIsRefused", "runtime/pending.go",
		"g.allowance = g.limit - pending", "g.allowance = g.limit - pending + 1"},
	{"TestANilOptionIsRefusedByItsPosition", "runtime/errors.go",
		"fmt.Sprintf(\"option %d\", i+1)", "fmt.Sprintf(\"option %d\", i)"},
	{"TestANewNameStartsAtTheEndOfTheLogOrAtItsBeginning", "runtime/internal/sqlite/tables/names.go",
		"if !spec.FromBeginning {", "if spec.FromBeginning {"},
	{"TestAHandlerCannotPublishWithAContextThatHasEnded", "runtime/internal/dispatch/staging.go",
		"	ended := a.endOf(ctx)\n	a.mu.Lock()\n	defer a.mu.Unlock()\n	switch {\n	case a.over || a.taken", "	ended := error(nil)\n	a.mu.Lock()\n	defer a.mu.Unlock()\n	switch {\n	case a.over || a.taken"},
	{"TestEventsPublishedByADiscardingHandlerAreNotStored", "runtime/internal/dispatch/failure.go",
		"	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Discard, Reason: reason}))", "	a.settle(a.run.disposition(engine.Disposition{Kind: engine.Discard, Reason: reason, Staged: a.staged()}))"},
	{"TestAnEventIsDeadLetteredWithTheErrorOfEveryAttempt", "runtime/internal/dispatch/failure.go", // it is tried once more
		"	case policy.Exhausted(failures):\n		return due", "	case policy.Exhausted(failures - 1):\n		return due"},
	{"TestAFailedEventIsRetriedAtTheTimesOfItsPolicy", "runtime/internal/dispatch/failure.go", // it is tried once more
		"	case policy.Exhausted(failures):\n		return due", "	case policy.Exhausted(failures - 1):\n		return due"},
	{"TestAPausedSubscriptionWaitsAndUsesNoAttempts", "runtime/internal/dispatch/gate.go",
		"g.paused.Store(all); held", "g.paused.Store(false); held"},
	{"TestAPausedTypeWaitsWhileTheOthersGoOn", "runtime/internal/dispatch/gate.go",
		"held != nil && (*held)(i.Type) {", "held != nil && i.Type == \"\" && (*held)(i.Type) {"},
	{"TestAKnownSubscriptionGetsTheEventsItMissedOnce", "runtime/internal/sqlite/flush.go", // it gets the last one again
		"SET cursor = ? WHERE id = ?\", f.cursor, id)", "SET cursor = ? WHERE id = ?\", f.cursor-1, id)"},
}

var (
	breakRules = flag.Bool("break", false, "break the rules of testdata/rules.txt that are marked, and see their tests fail; takes minutes")
	breakSome  = flag.Int("break.some", 0, "with -break: so many of them, at random")
	breakSeed  = flag.Uint64("break.seed", 0, "with -break.some: the seed of an earlier run")
	breakOnly  = flag.String("break.only", "", "with -break: those whose tests match this expression")
	breakTime  = flag.Duration("break.timeout", 5*time.Minute, "with -break: how long a test may take")
)

// The index of the rules says which tests were seen to fail. This keeps the list of them true;
// with -break it sees them fail, each with a change that only the compiler sees.
func TestTestsMarkedInTheSemanticsHaveBeenSeenToFail(t *testing.T) {
	root, err := filepath.Abs("..")
	conformance.Must(t, err)
	marked := map[string]bool{}
	for _, rule := range readRules(t) {
		for _, name := range rule.marked {
			marked[name] = true
		}
	}
	breakable, fit := map[string]bool{}, brokenRules[:0:0]
	for _, rule := range slices.Concat(brokenRules, brokenHandling, brokenFile) {
		if !marked[rule.test] {
			t.Errorf("%s can be seen to fail, and testdata/rules.txt has no ✓ behind it", rule.test)
		}
		breakable[rule.test] = true
		source, err := os.ReadFile(filepath.Join(root, rule.file))
		conformance.Must(t, err)
		if n := strings.Count(string(source), rule.old); n != 1 {
			t.Errorf("%s: %q occurs %d times in %s, want once: change the list with the code", rule.test, rule.old, n, rule.file)
			continue
		}
		fit = append(fit, rule)
	}
	for name := range marked {
		if !breakable[name] {
			t.Errorf("testdata/rules.txt has a ✓ behind %s, and nothing here breaks its rule", name)
		}
	}
	if *breakRules {
		seeFail(t, root, fit)
	}
}

// seeFail breaks the rules one after the other, and sees the test of each fail.
func seeFail(t *testing.T, root string, rules []brokenRule) {
	folders, binaries := testFolders(t), map[string]string{}
	if *breakSome > 0 {
		seed := cmp.Or(*breakSeed, uint64(time.Now().UnixNano()))
		t.Logf("see them again with -break.some %d -break.seed %d", *breakSome, seed)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		rules = rules[:min(*breakSome, len(rules))]
	}
	only := regexp.MustCompile(*breakOnly)
	rules = slices.DeleteFunc(rules, func(rule brokenRule) bool { return !only.MatchString(rule.test) })
	together := newSwitched(t, root, rules)
	if named := flag.Lookup("test.run").Value.String(); strings.Contains(named, "/") {
		clear(together.rules) // of a few, each is built apart in less time
	} else {
		for _, rule := range together.rules {
			if folder := folders[rule.test]; binaries[folder] == "" {
				binaries[folder] = together.build(t, folder)
			}
		}
		for folder, binary := range binaries {
			together.passes(t, folders, folder, binary)
		}
	}
	for number, rule := range rules {
		t.Run(rule.test, func(t *testing.T) {
			t.Parallel()
			name, folder := rule.test, folders[rule.test]
			if suites[name] != "" {
				name = "TestConformance/" + name
			}
			see := rule.fails
			if _, ok := together.rules[number]; ok {
				see = func(t *testing.T, root, folder, name string) string {
					return together.fails(folder, binaries[folder], name, number)
				}
			}
			if output := see(t, root, folder, name); !strings.Contains(output, "--- FAIL: "+name) {
				t.Errorf("with %q instead of %q in %s it does not fail:\n%s", rule.new, rule.old, rule.file, output)
			}
		})
	}
}

// fails runs a test that is in a folder, with a rule broken in a build of its own. It returns the output.
func (rule brokenRule) fails(t *testing.T, root, folder, name string) string {
	temporary := t.TempDir()
	changed, overlay := filepath.Join(temporary, "changed.go"), filepath.Join(temporary, "overlay.json")
	source, err := os.ReadFile(filepath.Join(root, rule.file))
	conformance.Must(t, err)
	conformance.Must(t, os.WriteFile(changed, []byte(strings.Replace(string(source), rule.old, rule.new, 1)), 0o600))
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, rule.file): changed}})
	conformance.Must(t, err)
	conformance.Must(t, os.WriteFile(overlay, content, 0o600))
	test := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-timeout", breakTime.String(), "-run", runOnly(name), ".")
	test.Dir = filepath.Join(root, folder) // which may be in a module of its own
	output, _ := test.CombinedOutput()
	return string(output)
}

// runOnly is what -run is given for one test.
func runOnly(name string) string { return "^" + strings.ReplaceAll(name, "/", "$/^") + "$" }
