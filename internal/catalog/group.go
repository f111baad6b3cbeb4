package catalog

// Group is a group of subscriptions, which share one delivery of each event. It is declared by its members, and may
// have an entry of `groups:`.
type Group struct {
	Name    Value[string] // payment-chain; the durable name. In `groups:`, or else where the first member names it
	Doc     string
	Aliases []Value[string] // the durable names it had before
}

// Member is a subscription with its event.
type Member struct {
	*Subscription
	Event *Event
}

// Members returns the members of a group, in the order in which they handle an event.
func (c *Catalogue) Members(g *Group) []Member {
	var all []Member
	for _, e := range c.Events {
		for _, s := range e.Subscriptions {
			if s.Group != nil && s.Group.Name.V == g.Name.V {
				all = append(all, Member{s, e})
			}
		}
	}
	return all
}
