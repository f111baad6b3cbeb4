// Package dlq looks after the dead letters of an event log: the deliveries that
// a subscription has given up on.
//
// An [Inspector] needs the file and nothing else: no bus, no catalogue, no
// generated code. It works on the file of a service that is down, and beside one
// that is running: what it retries is picked up by the running bus within a
// fraction of a second, and otherwise at the next start.
//
//	inspector, err := dlq.Open("shop.db")
//	defer inspector.Close()
//
// # Seeing what happened
//
// Start with the kinds of failures. [Inspector.Groups] puts together what failed
// in the same way, whatever ids, numbers, addresses and quoted texts are in the
// messages, so that ten thousand dead letters are a few lines:
//
//	groups, err := inspector.Groups(ctx, dlq.Filter{Since: lastNight})
//	for _, g := range groups {
//		fmt.Println(g.Count, g.Reason, g.Message, g.Subscriptions)
//	}
//
// [Inspector.List] returns the letters themselves, newest first, in pages;
// [Inspector.Get] adds to one of them where it comes from and what was done to
// it. A [Filter] chooses by type, subscription, reason, time, text and group, and
// means the same everywhere.
//
// One event can be dead for several subscriptions; each is a dead letter of its
// own, with its own [Key].
//
// # Trying again
//
// Once the cause is gone, [Inspector.Retry] gives letters back to their
// subscriptions: one, some, a group or all of them. With a canary the first few
// must be handled before the rest follows, and a rate keeps the service beside it
// breathing:
//
//	counts, err := inspector.Retry(ctx, dlq.Selection{
//		Filter: dlq.Filter{Group: groups[0].Fingerprint},
//		Canary: 3,
//		Rate:   100, // per second
//	})
//
// A payload that can never be handled can be put right: [Inspector.Edit] makes a
// new event from it, linked to the old one, for the subscription that had failed.
// It is off unless the inspector is opened [WithEditing] and a check of payloads,
// such as that of a generated catalogue.
//
// # Clearing up
//
// [Inspector.Discard] settles letters that need not be handled, with a reason that
// stays with the event. [Inspector.Purge] forgets those that died long ago.
// [Inspector.Export] and [Inspector.Import] move letters between files, as lines
// of JSON.
//
// Whatever changes letters does so in small transactions: nobody who publishes
// waits for long, and when it is interrupted, by its context or by the end of the
// process, every letter is as it was or as it was to become. It leaves an entry
// that says who did it, which [Inspector.Audit] lists.
package dlq
