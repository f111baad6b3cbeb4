package breaking

import "github.com/busgen/busgen/internal/diag"

// Rule is one kind of change, with an example. Before, Bad and Good are pieces of a catalogue: what it
// was, a change that is reported, and one that is not.
type Rule struct {
	*diag.Rule
	Direction diag.Direction // in which it can go wrong
	Before    string
	Bad       string
	Good      string
}

// Rules lists the rules: events, versions, fields, types, what is not about decoding,
// subscriptions, and rows of a file.
func Rules() []Rule {
	return []Rule{
		eventRemoved, eventAdded, aliasRemoved, aliasMoved,
		versionRaised, versionLowered, historyDropped, historyEdited,
		fieldAdded, fieldRemoved, fieldRenamed, fieldRequired, fieldOptional, wasRemoved, wasMoved, reservedRemoved,
		typeChanged, customChanged, enumValueRemoved, enumValueAdded, enumRenumbered, variantRemoved, variantAdded, discriminatorChanged,
		constraintTightened, defaultChanged, partitionChanged, expiresSooner,
		subscriptionRemoved, subscriptionMoved,
		StoredRows,
	}
}

// Effects of single rules.
var (
	renamedEffect = effect{"the new program does not see what old rows have under the old name", "the old program does not see what new rows have under the new name", "neither program sees what rows of the other have under its name"}
	notRead       = effect{backward: "the new program does not see what old rows have under it"}
	anotherField  = effect{backward: "old rows may hold another value under it"}
	customEffect  = effect{"what it makes of old rows is its own affair", "what old programs make of new rows is their own affair", "what each makes of rows of the other is its own affair"}
	renumbered    = effect{"old rows mean something else by it", "new rows mean something else by it in the old program", "rows mean something else by it in the other program"}
)
