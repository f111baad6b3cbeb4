package breaking

import "github.com/busgen/busgen/internal/diag"

// Rule is one kind of change, with an example: Before is a piece of a catalogue, Bad a change of it that is
// reported, and Good one that is not.
type Rule struct {
	*diag.Rule
	Direction diag.Direction // in which something can go wrong
	Before    string
	Bad       string
	Good      string
}

// Rules lists the rules: events, versions, fields, types, delivery, subscriptions, schedules, headers, and the
// events stored in a file.
func Rules() []Rule {
	return []Rule{
		eventRemoved, eventAdded, aliasRemoved, aliasMoved,
		versionRaised, versionLowered, historyDropped, historyEdited,
		fieldAdded, fieldRemoved, fieldRenamed, fieldRequired, fieldOptional, wasRemoved, wasMoved, reservedRemoved,
		typeChanged, customChanged, enumValueRemoved, enumValueAdded, enumRenumbered, variantRemoved, variantAdded, discriminatorChanged,
		constraintTightened, defaultChanged, partitionChanged, dedupeChanged, awaitChanged, expiresSooner,
		subscriptionRemoved, subscriptionMoved, subscriptionNarrowed, subscriptionWidened, subscriptionRegrouped,
		scheduleRemoved, scheduleMoved, cloudEventsChanged,
		headerRequired, headerOptional, headerRemoved, headerChanged,
		MergedTwice, StoredRows, StoredFields,
	}
}

// The effects of single rules.
var (
	renamedEffect = effect{"the new program does not see what old rows have under the old name", "the old program does not see what new rows have under the new name", "neither program sees what rows of the other have under its name"}
	notRead       = effect{backward: "the new program does not see what old rows have under it"}
	anotherField  = effect{backward: "old rows may hold another value under it"}
	customEffect  = effect{"only its code knows what it does with old rows", "only their code knows what old programs do with new rows", "only their code knows what each does with rows of the other"}
	renumbered    = effect{"old rows mean something else by it", "new rows mean something else by it in the old program", "rows mean something else by it in the other program"}
)
