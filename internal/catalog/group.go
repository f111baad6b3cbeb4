package catalog

// Group is a group of subscriptions, which share one delivery of each event. It is declared by its members, and may
// have an entry of `groups:`.
type Group struct {
	Name    Value[string] // payment-chain; the durable name. In `groups:`, or else where the first member names it
	Doc     string
	Aliases []Value[string] // the durable names it had before
}
