package runtime_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	{"TestEveryLogIsHandledToItsEndWithoutAnotherPublish", "runtime/internal/dispatch/polling.go", // a short answer is taken for the end
		"		return polled, more, due, err\n", "		return polled, len(polled) == room, due, err\n"},
	{"TestEveryLogIsHandledToItsEndWithoutAnotherPublish", "runtime/internal/dispatch/polling.go", // nothing is polled for a full window
		"	if s.cfg.Strict {\n		var next", "	if s.cfg.Strict && room > 0 {\n		var next"},
	{"TestEveryLogIsHandledToItsEndWithoutAnotherPublish", "runtime/internal/sqlite/poll.go", // an empty page that was read ahead is believed
		"return dst, next < c.log.tail.end(), nil", "return dst, len(events) > 0 && next < c.log.tail.end(), nil"},
	{"TestASubscriptionThatStallsIsLookedAtAndTheLogTheCountsAndTheHealthSaySo", "runtime/internal/dispatch/stall.go",
		"	s.consumer.Reread()\n	s.woken()\n", ""},
	{"TestASignalThatComesLateIsNoStall", "runtime/internal/dispatch/stall.go",
		"s.stalls.signals.Load() != before || s.stopped.Load()", "s.stopped.Load()"},
	{"TestASubscriptionAtRestLooksLessAndLess", "runtime/internal/dispatch/stall.go",
		"min(2*w.pause, stallSlowest)", "stallAfter"},
	{"TestAReadOnlyTransactionOfTheDatabaseIsASnapshot", "runtime/internal/sqlite/sqlapi/conn.go",
		"if _, err := c.db.Int64(\"PRAGMA user_version\"); err != nil {", "if err := error(nil); err != nil {"},
	{"TestWhatTheDatabaseMustNotDoIsRefusedInWords", "runtime/internal/sqlite/sqlapi/conn.go",
		"err = c.file.Check(c.db)", "err = nil"},
	{"TestWhatAConnectionHasChangedIsNotThereForTheNext", "runtime/internal/sqlite/sqlapi/conn.go",
		"c.broken == nil && !c.shared.guard.changed", "c.broken == nil"},
	{"TestAnInterruptedStatementEndsItsTransactionOfTheDatabase", "runtime/internal/sqlite/sqlapi/session.go",
		"s.lost || (s.within || s.own != nil && s.own.mode != none)", "s.lost || s.within"},
	{"TestWhoHasBegunATransactionDoesNotWaitForItself", "runtime/internal/sqlite/gate.go",
		"g.holder.Store(goroutine.Number())", "_ = goroutine.Number()"},
	{"TestTheEndOfABusEndsItsDatabase", "runtime/lifecycle.go",
		"closing := b.database.close()", "closing := error(nil)"},
	{"TestTheOutboxPublishesWithinATransactionOfTheBus", "runtime/internal/sqlite/outbox.go",
		"s.ColumnType(6) != sqlite3.NULL", "s.ColumnType(6) == 99"},
	{"TestTheOutboxPublishesInATransactionalHandlerAndInTheDatabase", "runtime/internal/sqlite/programs.go",
		"		w.lookNow.Store(true)\n", ""},
	{"TestAStatementThatWasPreparedBeforePublishesByATriggerOfTheProgram", "runtime/internal/sqlite/sqlapi/statements.go",
		"	s.shared.prepared(raw) // it may have been prepared anew\n", ""},
	{"TestThePowerMayFailWhileALogIsMovedThatWasNotSynced", "runtime/internal/sqlite/database/transaction.go",
		"	if !c.disk.logLoose {\n", "	if true {\n"},
	{"TestThePowerMayFailWhileALogThatWasNotSyncedIsClosed", "runtime/internal/sqlite/database/conn.go",
		"	if c.fastenLog() != nil {\n", "	if c.Conn == nil {\n"},
	{"TestAnEventOfATransactionOfTheProgramIsHandledRightAfterItsCommit", "runtime/internal/sqlite/join.go",
		"	l.writer.expect(last.Seq, last.ID)\n", "	_ = last\n"},
	{"TestTheOptionsOfPublishWorkInATransactionOfTheProgram", "runtime/internal/sqlite/join.go",
		"s.exec(\"ROLLBACK TO \" + joinSavepoint)", "_ = 0"},
	{"TestWhatInCannotUseIsRefusedBeforeAnythingIsWritten", "runtime/internal/sqlite/join.go",
		"case hiding != 0:", "case hiding < 0:"},
	{"TestAMigrationLeavesTheTablesOfTheProgramAlone", "runtime/internal/sqlite/schema.go",
		"; PRAGMA legacy_alter_table=ON\", version", "\", version"},
	{"TestACheckSaysWhoseRowsAreWrong", "runtime/internal/sqlite/inspect_integrity.go",
		"if aboutRows(line) {", "if false {"},
	{"TestTheMigrationsOfAProgramRunOnceInTheirOrder", "runtime/migrations.go",
		"cmp.Compare(numbers[a], numbers[b])", "cmp.Compare(a, b)"},
	{"TestAMigrationOfAProgramThatCannotRunIsRefusedInWords", "runtime/internal/sqlite/migrate.go",
		"had[m.Name] == \"\" && last != \"\"", "false"},
	{"TestWhatWouldBeInTheWayOfTheBusIsRefused", "runtime/internal/sqlite/relay.go",
		"		err = w.trespass()\n", "		_ = w.trespass\n"},
	{"TestATimeoutDoesNotCountWhatATransactionWaits", "runtime/internal/dispatch/turn.go",
		"a.extras().turn.Store(&turn{limit: unlimited, begun: unlimited})", "_ = turn{}"},
	{"TestDeletingAllRowsIsInterrupted", "runtime/internal/sqlite/sqlapi/guard.go",
		"return sqlite3.AUTH_IGNORE", "return sqlite3.AUTH_OK"},
	{"TestAValueThatIsTooLongIsRefused", "runtime/internal/sqlite/sqlapi/shared.go",
		"maxLength = 64 << 20", "maxLength = 640 << 20"},
	{"TestAMigrationRebuildsATableThatOthersReferTo", "runtime/internal/sqlite/migrate.go",
		"PRAGMA foreign_keys=OFF", "PRAGMA foreign_keys=ON"},
	{"TestOtherProgramsPublishThroughOutbox", "runtime/internal/sqlite/schema.sql",
		"(112 + (random() & 15))", "(random() & 15)"},
	{"TestOutboxRefusesWhatIsNoEventInWords", "runtime/internal/sqlite/schema.sql",
		"HAVING count(*) > 1", "HAVING count(*) > 2"},
	{"TestADelayedEventOfOutboxIsHandledWhenItIsDue", "runtime/internal/sqlite/schema.sql",
		"NEW.delay_ms * 1000 AS", "NEW.delay_ms * 1 AS"},
	{"TestTheDedupeKeysOfOutboxAndOfPublishAreTheSame", "runtime/internal/sqlite/schema.sql",
		"SELECT RAISE(IGNORE)", "SELECT 0"},
	{"TestShutdownWaitsForThirtySecondsByDefault", "runtime/options.go",
		"defaultShutdownTimeout = 30 *", "defaultShutdownTimeout = 90 *"},
	{"TestAHighPriorityOvertakesAndALowOneIsNotStarved", "runtime/internal/dispatch/queue.go",
		"const patience = 8", "const patience = 12"},
	{"TestSubscriptionsShareALimit", "runtime/internal/limit/bucket.go",
		"b.used+n <= b.limit.AtOnce", "b.used+n <= b.limit.AtOnce+1"},
	{"TestALimitIsHeldForAnAttemptOrUntilTheEventIsSettled", "runtime/internal/limit/grant.go",
		"return h.event && h.place", "return false"},
	{"TestNestedEventsWithLimitsDoNotDeadlock", "runtime/internal/dispatch/places.go",
		"	a.run.granted().Lend()\n", ""},
	{"TestDeliveriesInMemoryNeedTheLimitsThatAreTunedIn", "runtime/internal/dispatch/relimit.go",
		"return keyed(in)", "return false"},
	{"TestRatesHoldOverRestartsAndLoseNothing", "runtime/limiter.go",
		"b.log.ReturnLimits(context.Background(), unused)", "error(nil)"},
	{"TestADeliveryWaitsForALimitForSoLong", "runtime/internal/limit/waiter.go",
		"case n.limit.Lax:", "case !n.limit.Lax:"},
	{"TestALimiterIsFreeAgainHoweverItsFunctionEnds", "runtime/limiter.go",
		"	defer call.End()\n", ""},
	{"TestAGroupResumesAtTheMemberThatFailed", "runtime/internal/dispatch/run.go",
		"v.Progress = encodeProgress(r.done, r.Progress)", "v.Progress = r.Progress"},
	{"TestEventsPublishedByAMemberAreStoredWithItsSuccess", "runtime/internal/dispatch/run.go",
		"		v.Staged = append(v.Staged, r.staged...)\n", ""},
	{"TestAMemberWithAnOpenBreakerIsSkippedAndMissesNoEvent", "runtime/internal/dispatch/run.go",
		"	if r.reopens.IsZero() {\n		s.settle", "	if len(r.done) > 0 {\n		s.settle"},
	{"TestAKeyOfAHandlerIsRememberedWithItsSuccess", "runtime/internal/sqlite/special.go",
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
		"a.run.priority == Critical", "a.run.priority == High"},
	{"TestABatchOfCriticalEventsThatFailsAsAWholeIsOneAlertUntilSomethingIsHandled", "runtime/batch_alert.go",
		" || m.given.Swap(true)", ""},
	{"TestAnEphemeralSubscriptionSaysHowManyPrunedEventsItHasPassedOver", "runtime/internal/sqlite/watch.go",
		"passed = end - first - left", "passed = left - left"},
	{"TestWhoFollowsTheLogGetsEachEventOnceInItsOrder", "runtime/internal/sqlite/inspect_follow.go",
		"end.Seq, end.ID = last.seq, last.ID", "end.ID = last.ID"},
	{"TestAnEventThatFailsForALongTimeIsReportedAsSlowOnce", "runtime/slow_event.go",
		"e.reported[id] = struct{}{}", "delete(e.reported, id)"},
	{"TestTheCatalogueSaysAfterWhatTimeAnEventIsSlow", "runtime/slow_event.go",
		"settingsOf(a.Type).SlowEventAfter", "settingsOf(a.Type).SlowEventAfter*0"},
	{"TestEventsOfOneKeyAreInOneBatchOrInOneAfterTheOther", "runtime/internal/dispatch/gather.go",
		"	p.enter(i.Seq)\n	i.entered = true\n}", "	p.enter(i.Seq)\n	p.running--\n	i.entered = true\n}"},
	{"TestAnEventThatAlwaysBreaksItsBatchDoesNotTakeOthersWithIt", "runtime/internal/dispatch/gather.go",
		"if i.Failures == 0 {", "if i.Failures < 1000 {"},
	{"TestABatchWithAPoisonEventIsHalvedUntilItIsFound", "runtime/internal/sqlite/halving.go",
		"return (n + 1) / 2", "return n"},
	{"TestAProcessThatIsKilledAllTheTimeMakesNoDeadLettersOfABatch", "runtime/internal/sqlite/halving.go",
		"counted = crashOfHalf", "counted = crashOpen"},
	{"TestAHalfIsHalvedWhateverWasLeftBehindBesideIt", "runtime/internal/sqlite/halving.go",
		"min(one.together, half(one.before))", "one.together"},
	{"TestSuspectsThatWereInNoBatchRunOneAtATime", "runtime/internal/sqlite/halving.go",
		"if one.waited || !one.batch {", "if one.waited {"},
	{"TestEachKeyKeepsItsOrderWhileABatchIsHalved", "runtime/internal/sqlite/recover.go",
		"WHERE ?6 AND", "WHERE ?6 AND 0 AND"},
	{"TestNothingRunsBesideAHalf", "runtime/internal/dispatch/gather.go",
		"!s.pass(first.Suspect) {", "!s.pass(first.Suspect && len(g.items) == 1) {"},
	{"TestHalvesDoNotWaitForMore", "runtime/internal/dispatch/gather.go",
		"g.items[0].Suspect && !s.morePolled()", "false"},
	{"TestASuspectThatAnotherOneHasKeptFromBeingTriedStaysOne", "runtime/internal/sqlite/consumer.go",
		" && !d.Spared", ""},
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
		"	a.permit.Failure(now, fmt.Sprint(a.shown(f.text)))\n", "	if f.kind != engine.KindExit {\n		a.permit.Failure(now, f.text)\n	} else {\n		a.withdraw()\n	}\n"},
	{"TestNoStepOfTheClockMakesAnythingWaitLonger", "runtime/internal/sqlite/clock.go",
		"return shiftWaits(c, back)", "return nil"},
	{"TestAStepOfTheClockIsFollowedOnce", "runtime/internal/sqlite/clock.go",
		"w.owns.Load() && w.back > 0", "w.back > 0"},
	{"TestADelayedEventFollowsTheWallClock", "runtime/internal/sqlite/clock.go",
		" AND wait IS NOT NULL", ""},
	{"TestThePublisherCanShortenTheTimeoutOfAnEvent", "runtime/internal/dispatch/own.go",
		"with.Timeout = tighter(s.Timeout, o.Timeout)", "with.Timeout = max(s.Timeout, o.Timeout)"},
	{"TestAHandlerThatSnoozesForEverEndsInTheDeadLetters", "runtime/internal/dispatch/failure.go",
		"a.Snoozes >= settings.MaxSnoozes", "a.Snoozes > settings.MaxSnoozes"},
	{"TestTheCountOfSnoozesSurvivesRestartsAndFailures", "runtime/internal/sqlite/flush.go",
		"snoozes = excluded.snoozes", "snoozes = 0"},
	{"TestOnlySnoozesThatHandlersAskForCount", "runtime/internal/sqlite/flush.go",
		"if d.Asked {", "if d.Kind == engine.Snooze {"},
	{"TestASnoozeBeyondTheExpiryMakesADeadLetter", "runtime/internal/dispatch/failure.go",
		"until.Sub(a.Since) >= settings.ExpiresAfter:", "until.Sub(a.Since) >= 2*settings.ExpiresAfter:"},
	{"TestTheContextOfAHandlerEndsWithItsEvent", "runtime/internal/dispatch/failure.go",
		"a.withdraw() // the event had little time", "a.permit.Failure(now, fmt.Sprint(a.shown(f.text))) // the event had little time"},
	{"TestAGroupStopsWhenItsEventExpires", "runtime/internal/dispatch/attempt.go",
		"a.limit, a.expires = max(0, left), true", "a.expires = true"},
	{"TestTheEventsViewCountsFromTheLastRedrive", "runtime/internal/sqlite/history.go",
		"SET history = excluded.history, at", "SET at"},
	{"TestASuccessAfterFailuresUpdatesTheEventsView", "runtime/internal/sqlite/history.go",
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
	{"TestAnImmediateEventDoesNotWaitForTheWallClock", "runtime/internal/sqlite/special.go",
		"		return atOnce\n", "		return r.Due\n"},
	{"TestAHandlerWaitsForAChildInItsOwnSubscription", "runtime/internal/dispatch/waiting.go",
		"lent := a.lend()", "lent := false"},
	{"TestAnAwaitedEventOvertakesEverything", "runtime/internal/dispatch/urgent.go",
		"seqs := s.queue.toPoll(time.Now())", "seqs := s.queue.toPoll(time.Now())[:0]"},
	{"TestAHandlerWaitsForAChildInOtherSubscriptions", "runtime/internal/dispatch/queue.go",
		"if len(q.urgent) > 0 && (guest || !q.suspected()) {", "if len(q.urgent) > 0 && (guest || q.ready[1].empty()) {"},
	{"TestAWaitingHandlerLendsItsPartitionKey", "runtime/internal/dispatch/places.go",
		"case !s.queue.free(r.key):", "case false:"},
	{"TestAHandlerWaitsInSeveralGoroutines", "runtime/internal/dispatch/places.go",
		"if l == nil || l.waits > 0 {", "if l == nil {"},
	{"TestAParentThatIgnoresItsContextIsLeftBehind", "runtime/internal/dispatch/waiting.go",
		"case <-a.Done():", "case <-ctx.Done():"},
	{"TestAWaitEndsWithItsContextAndTheChildGoesOn", "runtime/internal/dispatch/places.go",
		"	case <-ctx.Done():\n", "	case <-a.run.scheduler.stopping:\n"},
	{"TestTreesOfWaitingHandlersComeToAnEnd", "runtime/internal/dispatch/places.go",
		"return int(s.gate.active.Load()) >= s.places()", "return false"},
	{"TestHandlersThatEndInOddWaysGiveTheirPlacesBack", "runtime/internal/dispatch/places.go",
		"	s.open(loan)\n	s.retire(loan)", "	s.open(nil)\n	s.retire(loan)"},
	{"TestAnOpenBreakerHoldsAwaitedEvents", "runtime/internal/dispatch/places.go",
		"b.Status(time.Now()).State == breaker.HalfOpen", "b.Status(time.Now()).State == breaker.Open"},
	{"TestSuspectsThatWaitLetOthersRun", "runtime/internal/dispatch/places.go",
		"s.leave(a.run.alone)", "s.leave(false)"},
	{"TestAChildThatKillsItsProcessIsFoundAndItsParentGoesOn", "runtime/internal/dispatch/places.go",
		"s.consumer.SetWaiting(a.Delivery, true)", "s.consumer.SetWaiting(a.Delivery, false)"},
	{"TestAHandlerThatGoesOnAfterItsWaitIsASuspectAgain", "runtime/internal/dispatch/places.go",
		"s.consumer.SetWaiting(l.attempt.Delivery, false)", "s.consumer.SetWaiting(l.attempt.Delivery, true)"},
	{"TestHandlersCannotWaitInACircle", "runtime/internal/dispatch/waiting.go",
		"path != nil || seq == a.Seq {", "seq == a.Seq {"},
	{"TestWhatAFailedAttemptHasLoggedIsKeptWithIt", "runtime/internal/dispatch/failure.go",
		"Log: a.closeJournal()", "Log: \"\""},
	{"TestASuspectThatComesBackByForceLeavesTheBusToTheOthers", "runtime/internal/dispatch/places.go",
		"	l.attempt.run.alone = false\n", ""},
	{"TestPublishMiddlewareWritesMetadata", "runtime/publish_middleware.go",
		"	r.Metadata = metadata\n", "	_ = metadata\n"},
	{"TestAPublishMiddlewareRefusesEvents", "runtime/publish_middleware.go",
		"if err := m.see(ctx, p); err != nil {", "if err := m.see(ctx, p); err != nil && i > 0 {"},
	{"TestMiddlewareStandsAroundEveryHandler", "runtime/middleware.go",
		"range [][]Middleware{s.config.middleware, s.bus.config.middleware}", "range [][]Middleware{s.bus.config.middleware, s.config.middleware}"},
	{"TestAMiddlewareCallsTheHandlerOnceAnAttemptWithWhatItWasGiven", "runtime/internal/dispatch/staging.go",
		"	a.entered = true\n", "	a.entered = false\n"},
	{"TestASubscriptionThatIsRemovedIsGoneWithItsBacklogAndStartsAsNew", "runtime/remove.go",
		"if f != nil && running {", "if f != nil && !running {"},
	{"TestAnEphemeralSubscriptionRetriesAndThenDropsTheEvent", "runtime/internal/ephemeral/consumer.go",
		"			next.Failures++\n", "			next.Uncounted++\n"},
	{"TestWhatAnEphemeralHandlerPublishesIsStoredIfItSucceeds", "runtime/ephemeral.go",
		"if err := handle(a); err != nil {\n			return err\n		}\n", "if err := handle(a); err != nil {\n			a.TakeStaged()\n			return err\n		}\n		if a.Number > 0 {\n			return nil\n		}\n"},
	{"TestAnEditedDeadLetterIsForItsSubscriptionAndNotForEphemeralOnes", "runtime/internal/sqlite/watch.go",
		"NOT (?5 AND due_at", "NOT (?5 AND FALSE AND due_at"},
	{"TestAShutdownEndsTheWaitsOfHandlers", "runtime/internal/dispatch/attempt.go",
		"case interrupted, f.stopped && s.stopped.Load():", "case interrupted:"},
	{"TestAnEventIsEitherCancelledOrBegun", "runtime/internal/sqlite/cancel.go",
		"!own.settled && !own.started.IsZero()", "own.settled && !own.started.IsZero()"},
	{"TestACancelledEventIsNotHandled", "runtime/internal/sqlite/cancel.go",
		"AND state IN ('waiting', 'held')", "AND state = 'held'"},
	{"TestAnEventThatRanAtACrashIsCancelled", "runtime/internal/sqlite/cancel_event.go",
		"d.State == engine.StateRunning && d.cancelled", "d.State == engine.StateRunning && !d.cancelled"},
	{"TestAwaitSinceReturnsTheOldestEventThatMatches", "runtime/internal/sqlite/watch.go",
		"w.after = first - 1", "w.after = first"},
	{"TestFindYieldsTheNewestEventsThatMatchFirst", "runtime/internal/sqlite/inspect_events.go",
		"order := \"DESC\"", "order := \"ASC\""},
	{"TestFindEndsAsSoonAsTheShutdownBegins", "runtime/lifecycle.go",
		"	waiting.Go(func() { errs[len(feeds)] = b.past.close() })", "	defer b.past.close()"},
	{"TestARewindDeliversExactlyTheRangeToOneSubscription", "runtime/internal/sqlite/inspect_replay.go",
		"max(r.last, from-1)", "max(r.last, from)"},
	{"TestAReplayIsMarkedUntilItIsSettled", "runtime/internal/sqlite/inspect_replay.go",
		"'waiting', 0, ?3, 0, ?3, 1,", "'waiting', 0, ?3, 0, ?3, 0,"},
	{"TestTheFirstAnswerByTimeWinsAndTheLosersContextEnds", "runtime/exchange.go",
		"!a.Lose(ErrAnswered, answeredBy(enough))", "a == nil"},
	{"TestZeroValuesAndNilAreAnswers", "runtime/exchange.go",
		"if err == nil && !t.x.over {", "if err == nil && value != nil && !t.x.over {"},
	{"TestALoserThatHasNotBegunIsNotCalled", "runtime/exchange.go",
		"	case x.enough != \"\":\n", "	case false:\n"},
	{"TestALoserThatPanicsOrOutlivesItsTimeHasNotFailed", "runtime/internal/dispatch/failure.go",
		"if a.extra.Load().interruption.lost != \"\" {", "if false {"},
	{"TestWhatAnEarlierAttemptOfTheWinnerHasPublishedIsHandled", "runtime/exchange.go",
		"!a.Lose(ErrAnswered, answeredBy(enough))", "!a.Lose(ErrAnswered, answeredBy(enough)) && a == nil"},
	{"TestAFunctionFindsTheEventsOfThoseBeforeIt", "runtime/internal/sqlite/sqlapi/session.go",
		"return s.shared.mark(raw).reads ||", "return"},
	{"TestEventsThatWereWrittenForAFunctionThatFailsAreStoredAllTheSame", "runtime/internal/sqlite/relay.go",
		"	turn.relay.held = turn.heldBefore", "	// turn.relay.held = turn.heldBefore"},
	{"TestAFunctionWhoseEventCannotBeWrittenFailsAlone", "runtime/internal/sqlite/held.go",
		"	if r.writeHeld() != nil {\n		return errBeginAnew\n", "	if r.writeHeld() != nil {\n		return nil\n"},
	{"TestRowsAndEventsAreStoredTogether", "runtime/publish.go",
		"	if b.tx != nil {\n		return b.tx", "	if b.tx == nil && b.staged() {\n		return b.tx"},
	{"TestAfterAnErrorNothingIsStored", "runtime/internal/sqlite/relay.go",
		"	if alone {\n		return errBeginAnew\n", "	if alone {\n		return nil\n"},
	{"TestAFunctionThatFailsBesideOthersIsTakenBackAlone", "runtime/internal/sqlite/relay.go",
		"if err := w.conn.Exec(\"ROLLBACK TO \" + sqlapi.Savepoint); err != nil {", "if err := error(nil); err != nil {"},
	{"TestSixtyFourCallersOfWhomSomeDoWrong", "runtime/internal/sqlite/transact.go",
		"if err == nil && n != 0 {", "if err == nil && n < 0 {"},
	{"TestRowsOfAHandlerAreStoredWithItsSuccess", "runtime/tx_handler.go",
		"return s.bus.commit(a, true, func(*txRun) error { return nil })", "return nil"},
	{"TestATransactionThatCannotBeStoredDoesNotCountAsAnAttempt", "runtime/tx_handler.go",
		"return &dispatch.UncommittedError{Err: err}", "return err"},
	{"TestAfterAStatementHasRolledBackAllNothingMoreIsWritten", "runtime/internal/sqlite/sqlapi/session.go",
		"	case s.lost:\n		return ErrLost\n", ""},
	{"TestAStatementThatNeedsTooMuchMemoryFailsAlone", "runtime/internal/sqlite/relay.go",
		"	if broken != nil || turn.session.Lost() {\n", "	if broken != nil {\n		return broken\n	}\n	if turn.session.Lost() {\n"},
	{"TestHoweverAFunctionEndsTheOthersAreStored", "runtime/internal/sqlite/transact.go",
		"			turn.end(errUnwinding)\n", "			turn.end(nil)\n"},
	{"TestAConversionThatCallsTheBusIsToldThatItIsInATransaction", "runtime/internal/sqlite/gate.go",
		"part == goroutine.Identity() {", "part+1 == goroutine.Identity() {"},
	{"TestADeadlineThatPassesDuringTheCommitEndsNoAttempt", "runtime/internal/dispatch/attempt.go",
		"if a.over || a.storing || !a.late", "if a.over || !a.late"},
	{"TestAHandlerWhoseFileIsMovedAwayStoresNothing", "runtime/internal/sqlite/moved.go",
		"beat.Passed(w.placed, pollDelay)", "beat.Passed(w.placed, 1000*pollDelay)"},
	{"TestAConflictIsLookedForAnewWhenAllIsRolledBack", "runtime/internal/sqlite/append.go",
		"	r.refused = nil // what", "	// what"},
	{"TestPreparedStatementsFollowTheSchema", "runtime/internal/sqlite/sqlapi/statements.go",
		"if raw.Step() { // which", "if raw.Busy() { // which"},
	{"TestAFunctionThatWaitsForAnotherTransactionIsNotCalledAfterItsContextHasEnded", "runtime/internal/sqlite/transact.go",
		"	err := ctx.Err() // it may", "	err := error(nil) // it may"},
	{"TestAFunctionRunsAgainWhenAnotherRollsBackAll", "runtime/internal/sqlite/writer.go",
		"errors.Is(err, errBeginAnew) || ", "errors.Is(err, errUnwinding) || "},
	{"TestAFunctionThatWasRefusedRunsAgainWhenAllIsRolledBack", "runtime/internal/sqlite/relay.go",
		"p.final = alone || !all.wrote ||", "p.final = true ||"},
	{"TestManyFunctionsThatRollBackAllCostNoMoreThanAFewReruns", "runtime/internal/sqlite/transact.go",
		"anewLimit = 4", "anewLimit = 4000"},
	{"TestATransactionThatHasTakenLongLeavesTheRestToTheNext", "runtime/internal/sqlite/transact.go",
		"groupTime = 50 * time.Millisecond", "groupTime = 50 * time.Second"},
	{"TestWhatATransactionMustNotDoIsRefusedInWords", "runtime/internal/sqlite/sqlapi/guard.go",
		"if !strings.HasPrefix(schema, \"vacuum_\") || g.within {", "if !strings.HasPrefix(schema, \"vacuum_\") && !g.within {"},
	{"TestAKeyInAHandlerIsLookedUpWhenTheHandlerPublishes", "runtime/dedupe.go",
		"if err := b.bus.log.Recognise(ctx, b.records); err != nil {", "if err := ctx.Err(); err != nil {"},
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
	{"TestWhatALoserHasPublishedWithADedupeKeyIsHandled", "runtime/interrupt.go",
		"r.Duplicate || r.Dedupe != nil", "r.Duplicate"},
	{"TestIdleBusesLookAtTheSameMoments", "runtime/internal/sqlite/foreign.go",
		"return beat.Until(pollDelay)", "return pollDelay - time.Since(w.looked)"},
	{"TestPruningDoesNotReadTheEventsOfDeadLettersAgain", "runtime/internal/sqlite/prune_kept.go",
		"err != nil || rowed != events", "err != nil || rowed != events && rowed == 0"},
	{"TestATakeoverReadsNoMoreDeadLettersThanItCounts", "runtime/internal/sqlite/clock.go",
		"found.Dead == most", "found.Dead < 0"},
	{"TestADelayedEventWakesItsOwnSubscriptions", "runtime/internal/sqlite/log.go",
		"busgen_routes WHERE type = ?", "busgen_routes WHERE ? > 0"},
	{"TestTheSearchForUnhandledEventsPassesDeadLetters", "runtime/internal/sqlite/unhandled.go",
		"subscription = ?1 ORDER BY seq LIMIT ?2", "subscription = ?1 AND state <> 'dead' ORDER BY seq LIMIT ?2"},
	{"TestTheLogOfAnotherFileIsNotReadIntoOneThatIsMovedBack", "runtime/internal/sqlite/otherlog.go",
		"alone == nil || with == nil || bytes.Equal(alone, with)", "alone != nil || with != nil || bytes.Equal(alone, with)"},
	{"TestWhatAnOwnerSaysAboutItsFileGivesAllAcknowledgedEventsBack", "runtime/internal/sqlite/rescue.go",
		"	return err == nil\n", "	return err != nil && err == nil\n"},
	{"TestReadersThatOverlapDoNotMakeTheLogGrow", "runtime/internal/sqlite/database/checkpoint.go",
		"c.wal.pages < max(c.wal.again, WALLimit)", "c.wal.pages > max(c.wal.again, 0)"},
	{"TestAReaderThatHoldsTheLogIsSaidOnceAndTheLogIsEmptiedWhenItHasEnded", "runtime/internal/sqlite/heldlog.go",
		"		h.said = true\n", "		h.said = false\n"},
	{"TestNobodyHavingAnAnswerIsAnErrorOfItsOwn", "runtime/exchange.go",
		"return fmt.Errorf(\"%s %s: %w\", s.typ, s.id, ErrNoAnswer)", "return &NoAnswererError{EventType: s.typ}"},
}

var breakRules = flag.Bool("break", false, "break the rules of docs/semantics.md that are marked, and see their tests fail; takes minutes")

// The page says which tests were seen to fail. This keeps the list of them true;
// with -break it sees them fail, each with a change that only the compiler sees.
func TestTestsMarkedInTheSemanticsHaveBeenSeenToFail(t *testing.T) {
	root, err := filepath.Abs("..")
	conformance.Must(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "semantics.md"))
	conformance.Must(t, err)
	marked := map[string]bool{}
	for _, match := range regexp.MustCompile("`(Test[A-Za-z0-9]*)`\\s✓").FindAllSubmatch(page, -1) {
		marked[string(match[1])] = true
	}
	breakable := map[string]bool{}
	for _, rule := range brokenRules {
		if !marked[rule.test] {
			t.Errorf("%s can be seen to fail, and docs/semantics.md has no ✓ behind it", rule.test)
		}
		breakable[rule.test] = true
		source, err := os.ReadFile(filepath.Join(root, rule.file))
		conformance.Must(t, err)
		if n := strings.Count(string(source), rule.old); n != 1 {
			t.Errorf("%s: %q occurs %d times in %s, want once: change the list with the code", rule.test, rule.old, n, rule.file)
		} else if *breakRules {
			t.Run(rule.test, func(t *testing.T) { rule.breaks(t, root, string(source)) })
		}
	}
	for name := range marked {
		if breakable[name] {
			continue
		}
		t.Errorf("docs/semantics.md has a ✓ behind %s, and nothing here breaks its rule", name)
	}
}

// breaks runs the test of a rule that is broken.
func (rule brokenRule) breaks(t *testing.T, root, source string) {
	folder := t.TempDir()
	changed, overlay := filepath.Join(folder, "changed.go"), filepath.Join(folder, "overlay.json")
	conformance.Must(t, os.WriteFile(changed, []byte(strings.Replace(source, rule.old, rule.new, 1)), 0o600))
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, rule.file): changed}})
	conformance.Must(t, err)
	conformance.Must(t, os.WriteFile(overlay, content, 0o600))
	name := rule.test
	if suites[name] {
		name = "TestConformance/" + name
	}
	run := "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	test := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-timeout", "5m", "-run", run, "./runtime", "./runtime/inspect", "./runtime/internal/systest", "./runtime/internal/txtest", "./runtime/internal/sqlite")
	test.Dir = root
	output, _ := test.CombinedOutput()
	if !strings.Contains(string(output), "--- FAIL: "+name) {
		t.Errorf("with %q instead of %q in %s it does not fail:\n%s", rule.new, rule.old, rule.file, output)
	}
}
