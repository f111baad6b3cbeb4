package lint

import "github.com/busgen/busgen/internal/diag"

// Rule finds one kind of bad idea, and has an example of it.
type Rule struct {
	*diag.Rule
	Bad   string // a piece of a catalogue that the rule reports
	Good  string // one that it does not report
	check func(*pass)
}

// Rules lists the rules: documentation, names, payloads, schedules, settings.
func Rules() []Rule {
	return []Rule{
		eventDoc, typeDoc, fieldDoc, eventOwner, eventExample, deprecatedSubscribed, deprecatedType, pastTense, genericName,
		secretField, floatMoney, unusedType, unusedLimit, sampleOfCustom, partitionGap, dedupeFewValues, sensitiveKey, flowCorrelation, scheduleUnhandled,
		slowAfterUnreached, slowEventUnreached, timeoutBeyondExpiry, attemptsBeyondExpiry, batchBeyondExpiry, batchOneAttempt, neverRetried, noJitter, retryDelays, strictWithoutKey, allCritical, oneBudget,
	}
}
