package memory_test

import (
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestInspection(t *testing.T) {
	conformance.Run(t, &inspection.Env{Engine: newEngine()}, inspectionExceptions, 1)
}

// inspectionExceptions are the tests of the suite that do not hold for this engine, by
// reason.
var inspectionExceptions = map[string][]string{
	"the engine does not do this, and returns an error that says so": {
		"TestACancelledDiscardIsUndoneBeforeItHappens",
		"TestAClosedInspectorSaysSo",
		"TestADiscardIsUndone",
		"TestADeadLetterWithoutAFingerprintGetsOne",
		"TestAnImportNamesABadLineAndKeepsTheLinesBeforeIt",
		"TestAnEventEditedTwiceIsLinkedToAllItsOrigins",
		"TestDeadLettersMoveToAnotherFileWithAllThatIsKnown", "TestWhatAnAttemptHasLoggedMovesToAnotherFile",
		"TestReplaysAndUndoneDiscardsTakeAFormerName",
		"TestSteeringAnUnknownNameListsTheKnownOnes",
		"TestAnEditedDeadLetterIsNotUndiscarded",
		"TestADiscardThatIsUndoneJustBeforeItsHandlerFailsStaysUndone",
	},
	"the engine shows and checks less: no rates, snoozes or audit of one delivery; closed logs and ended contexts are not noticed": {
		"TestAClosedFileSaysSo",
		"TestAnEndedContextIsReturnedAsTheError",
		"TestAHandlerThatSucceedsAfterADiscardHasHandledTheEvent",
		"TestALongBacklogIsDrainedAtTheRateOfTheLog",
		"TestAnEventShowsTheStateOfEachDelivery",
		"TestHandlersThatRunForLongAreSeenFromOutside",
		"TestRatesCountWhatHappenedBetweenTwoLooks",
		"TestStatusListsDeliveriesThatAreSnoozedAgainAndAgain",
		"TestTheAuditOfADeadLetterListsWhatWasDoneToIt",
		"TestTheEndOfTheContextEndsTheWorkBetweenTwoSteps",
		"TestAnEventThatIsGoneWhenItsTurnComesIsSkipped",
		"TestADeliveryThatIsNotADeadLetterIsNamedWithItsState",
	},
}
