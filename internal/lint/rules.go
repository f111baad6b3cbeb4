package lint

// Rule finds one kind of bad idea.
type Rule struct {
	ID       string
	Severity Severity // unless the catalogue says otherwise
	Purpose  string   // why it is a bad idea, in a sentence
	Bad      string   // what it reports: a piece of a catalogue
	Good     string   // what it is content with
	check    func(*pass)
}

// Rules lists the rules: what is said, names, payloads, settings.
func Rules() []Rule {
	return []Rule{
		eventDoc, typeDoc, fieldDoc, eventOwner, eventExample, deprecatedSubscribed, deprecatedType, deprecatedKey, pastTense, genericName,
		secretField, floatMoney, unusedType, sampleOfCustom, partitionGap, flowCorrelation,
		slowAfterUnreached, timeoutBeyondExpiry, attemptsBeyondExpiry, neverRetried, noJitter, retryDelays, oneBudget,
	}
}

// RuleOf returns the rule of an id.
func RuleOf(id string) (Rule, bool) {
	for _, rule := range Rules() {
		if rule.ID == id {
			return rule, true
		}
	}
	return Rule{}, false
}
