package memory_test

import (
	"path/filepath"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/memory"
)

// newEngine returns an engine for one suite.
func newEngine() *conformance.Engine {
	e := memory.New()
	return &conformance.Engine{
		Options:   []runtime.Option{runtime.WithEngine(e)},
		Inspect:   []inspect.Option{inspect.WithEngine(e)},
		Storage:   e,
		NewTarget: func(t *testing.T) string { return filepath.Join(t.TempDir(), "events.db") },
	}
}

func TestConformance(t *testing.T) {
	conformance.Run(t, &conformance.Env{Engine: newEngine()}, exceptions, 1)
}

// exceptions are the tests of the suite that do not hold for this engine, by reason.
var exceptions = map[string][]string{
	"the model knows what an engine does that keeps its log": {"TestTheBusDoesWhatItsModelDoes"},
	"a log in memory ends with its process, so no delivery is interrupted by a crash": {
		"TestASuspectDoesNotWaitForAnEventThatWaitsForIt",
		"TestTheLogDoesNotGoBackAndForthBetweenSuspectsAndOthers",
		"TestASuspectThatWaitsForALimitHoldsUpNobody",
		"TestWaitingForALimitCountsNoAttemptWhenTheProcessIsKilled",
		"TestTheLimitKeyOfASuspectIsComputedAlone",
		"TestAnEventOfWhichOnlyTheKeyWasComputedIsNoSuspectOfACrash",
		"TestAClockThatIsSetBackPutsOffNothingThatIsDue",
		"TestACrashThatCountsIsLoggedObservedAndInTheStats",
		"TestADeadLetterThatHasEndedTheProcessRunsAloneWhenItIsRetried",
		"TestAShutdownWhileASuspectWaitsEnds",
		"TestASuspectBehindAnOpenBreakerBlocksNoOthers",
		"TestASuspectDoesNotWaitForHandlersThatWereLeftBehind",
		"TestASuspectDoesNotWaitForHandlersThatUnsubscribeLeftBehind",
		"TestASuspectInAGroupRunsAlone",
		"TestASuspectThatComesBackByForceLeavesTheBusToTheOthers",
		"TestASuspectOfAPausedSubscriptionBlocksNoOthers",
		"TestASuspectOfAPausedTypeBlocksNoOthers",
		"TestSuspectsInStrictOrderKeepTheirOrder",
		"TestSuspectsOfSeveralSubscriptionsRunOneAtATime",
		"TestSuspectsWithoutAHandlerBlockNoOthers",
		"TestSuspectsThatWaitLetOthersRun",
		"TestAnEventThatRanAtACrashIsCancelled",
		"TestABatchWithAPoisonEventIsHalvedUntilItIsFound",
		"TestWhereverAPoisonEventIsItIsFoundAfterOneMoreDeathThanThereAreHalves",
		"TestSeveralPoisonEventsOfABatchAreFound",
		"TestEventsThatAreHarmlessApartAreHandledInHalves",
		"TestAKillFromOutsideWhileAHalfRunsCountsForNone",
		"TestAProcessThatIsKilledAllTheTimeMakesNoDeadLettersOfABatch",
		"TestNothingRunsBesideAHalf",
		"TestASuspectThatAnotherOneHasKeptFromBeingTriedStaysOne",
		"TestAHalfIsHalvedWhateverWasLeftBehindBesideIt",
		"TestBatchesThatRanAtOnceAreHalvedTogether",
		"TestHalvesAreNoLargerThanTheBatchesOfTheNextStart",
		"TestSuspectsOfABatchThatIsNoneAnyMoreRunOneAtATime",
		"TestSuspectsThatWereInNoBatchRunOneAtATime",
		"TestEachKeyKeepsItsOrderWhileABatchIsHalved",
		"TestASuspectWhoseNextAttemptMayBeItsLastIsInNoHalf",
		"TestHalvesDoNotWaitForMore",
		"TestAttemptsRunningAtACrashAreInTheHistoryOfEach",
		"TestAttemptsRunningAtACrashAreLoggedAndCountForNone",
		"TestWhatAnAttemptHasLoggedIsLostWithItsProcess",
		"TestADeadLetterWhoseLastAttemptWasNoCrashIsACanaryAndRedriven",
		"TestASuspectStaysOneUntilItsHandlerIsCalled",
		"TestACrashWithOthersFromBeforeARetryDoesNotCount",
		"TestAnEventIsNotDeadOfACrashAfterItWasSnoozed",
		"TestACrashEndsThePolicyOfAnErrorsClass",
		"TestOfTheCrashesOfASuspectWithOthersOnlyTheFirstCounts",
		"TestADeadLetterWhoseHandlerIsStillRunningAtACrashIsASuspect",
		"TestAHandlerThatWaitedForAnotherAtACrashIsNotReportedAsInterrupted",
		"TestACrashLoopMakesNoDeadLettersOfWhatHappensToRun",
		"TestACrashLoopMakesNoDeadLettersOfEventsWhoseKeysHappenToBeComputed",
		"TestACrashLoopMakesOneDeadLetterOfEventsThatAreTriedOnce",
		"TestAnEventThatEndsItsProcessAtOnceIsNoCrashLoop",
		"TestACrashLoopEndsWithAShutdownOrAProcessThatLives",
		"TestACrashLoopThatIsOverIsNotFoundByASubscriptionThatComesBack",
		"TestACrashLoopGoesOnWhateverTheNextProcessHandles",
		"TestAProcessThatHasLivedForLongIsNoCrashLoopWhateverItHasJustBegun",
		"TestASuspectIsOneAfterTheUndoOfItsDiscard",
	},
	"due times are kept by the monotonic clock: steps of the wall clock do not move them": {
		"TestADelayedEventFollowsTheWallClock",
		"TestNoStepOfTheClockMakesAnythingWaitLonger",
	},
	"it knows the oldest pending event of every subscription: it looks no further than that, and never gives up": {
		"TestTheSearchForUnhandledEventsIsBounded",
	},
	"partition keys are computed when an event is published: code that ends its goroutine ends the publisher's": {
		"TestAPayloadThatCannotBeReadIsADeadLetterAtOnceAndAffectsNoOthers",
	},
	"a discard cannot be undone": {
		"TestALoserIsHandledOnceItsDiscardIsUndone",
		"TestAMemberThatHasHandledAnEventIsNotCalledAgainAfterTheUndoOfItsDiscard",
		"TestTheUndoOfADiscardBeginsAnewAndIsDueNow",
		"TestADeadLetterThatIsRestoredKnowsHowOftenItWasExecuted",
		"TestAnEventThatWasPolledBeforeTheUndoOfItsDiscardBeginsAnew",
		"TestAnEventThatWasNeverTriedIsNewAfterTheUndoOfItsDiscard",
		"TestAnEventHasItsPartitionKeyAfterTheUndoOfItsCancel",
	},
	"dead letters can be neither edited nor imported": {
		"TestAKeyIsFreeAfterItsDeadLetterIsEdited",
		"TestAnEditedDeadLetterKeepsItsVersion",
		"TestDeadLettersThatWereExportedUnderAFormerNameAreImported",
	},
}
