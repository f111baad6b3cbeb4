// Package inspect looks into the event log of a bus and steers it from outside. The
// busgen command is built on it.
//
// A [File] needs only the file: no bus, no catalogue, no generated code. It works on the
// file of a program that is down, and beside a program that runs, which notices changes
// within 200 ms.
//
//	file, err := inspect.Open(ctx, "shop.db")
//	defer file.Close()
//
// The methods that look change no byte of the file, and need no permission to write. The
// methods that steer open the file for writing, and leave an entry in the audit with the
// name of the actor ([WithActor]). A File is safe for concurrent use.
//
// What it returns is in package [github.com/busgen/busgen/runtime/event].
//
// # Looking
//
// [File.Status] is the place to start: which process dispatches, how far each
// subscription is behind, what is paused, how many dead letters there are.
//
// Three lists come in pages of the same kind: [File.Events], [File.DeadLetters] and
// [File.Audit], the newest first. Events and dead letters are chosen by the same
// [event.Filter]:
//
//	filter := event.Filter{Types: []string{"order.*"}, Since: lastNight}
//	for page := (event.Page{}); ; {
//		letters, next, err := file.DeadLetters(ctx, filter, page)
//		…
//		if page.After = next; next == "" {
//			break
//		}
//	}
//
// [File.Event] shows one event with the state of each of its deliveries and every
// attempt that failed, and [File.DeadLetter] one dead letter with where it comes from.
// One event can be dead for several subscriptions; each is a dead letter of its own,
// with its own [event.Key].
//
// [File.FailureGroups] puts together the dead letters that failed in the same way,
// whatever ids, numbers, addresses and quoted texts are in their messages, so that ten
// thousand dead letters are a few lines:
//
//	groups, err := file.FailureGroups(ctx, filter)
//	for _, g := range groups {
//		fmt.Println(g.Count, g.Reason, g.Message, g.Subscriptions)
//	}
//
// # Trying again
//
// Once the cause is gone, [File.Retry] gives dead letters back to their subscriptions.
// [Only] chooses a single one.
// A [Selection] says which ones and how fast. With a canary the first few must be
// handled before the rest follows, and a rate protects the service that has just
// recovered:
//
//	counts, err := file.Retry(ctx, inspect.Selection{
//		Filter: event.Filter{Group: groups[0].Fingerprint},
//		Canary: 3,
//		Rate:   100, // per second
//	})
//
// [File.TryNow] ends the waits of deliveries that are not dead yet, but wait for a retry.
// [File.Replay] gives events that were handled to one subscription again. [File.Edit]
// corrects a payload that can never be handled: it makes a new event from it, linked to
// the old one, for the subscription that had failed. Editing is off unless the file is
// opened [WithEditing] and a check of payloads, such as that of a generated catalogue.
//
// # Clearing up
//
// [File.DiscardDeadLetters] and [File.DiscardEvent] settle deliveries that need not be
// handled, with a reason that stays with the event; [File.Undiscard] undoes it.
// [File.Purge] forgets dead letters that died long ago. [File.Export] and [File.Import]
// move dead letters between files, as lines of JSON.
//
// Methods that change many deliveries work in small transactions: publishers do not
// wait for long, and when a method is interrupted, by its context or by the end of the
// process, every delivery is either changed or not.
//
// # Persons
//
// [File.Hiding] is the same file for people who must not see the values of sensitive fields.
// [File.Erase] takes a person out of the file: of payloads, dead letters, errors and keys.
//
// # Steering
//
// A pause holds back a subscription, or events of some types, while everything else
// goes on. Nothing is lost: the events are delivered after the pause. It is kept in the
// file, so it outlives restarts, until it is resumed:
//
//	err = file.PauseSubscription(ctx, "charge-card", "the provider is down")
//	err = file.ResumeSubscription(ctx, "charge-card")
//	err = file.PauseTypes(ctx, "ml.run.*", "")
//
// [File.CloseBreaker] closes a circuit breaker of the program that runs.
// [File.RemoveSubscription] makes the file forget a subscription that no program has
// any more, whose backlog would grow for ever.
//
// # Checking
//
// [File.Check] reads the whole file and reports what must not be: damaged pages, rows
// that contradict one another, and payloads that a new version of the program will not
// understand.
//
// The queries behind these methods live in the engine: for SQLite they are the methods of
// Inspection in runtime/internal/sqlite, in its files inspect_*.go.
package inspect
