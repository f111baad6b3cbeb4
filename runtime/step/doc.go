// Package step lets a handler go on where it was: after a failed attempt, a crash, a deploy, a sleep of a week.
//
// The handler is called again from its top. What it does in a step is done once: the result is stored in the file of the
// bus, and returned from there the next time. Code outside of steps runs in every attempt, so it should only compute.
//
//	func fulfil(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
//		charge, err := step.Do(ctx, "charge", func(ctx context.Context) (Charge, error) {
//			return bank.Charge(ctx, step.Key(ctx), e.Payload.Total)
//		})
//		if err != nil {
//			return err // tried again, as ever
//		}
//		if err := step.Sleep(ctx, "cooling-off", 14*24*time.Hour); err != nil {
//			return err // also when it begins to sleep
//		}
//		_, err = step.Tx(ctx, "ship", func(ctx context.Context, tx runtime.Tx) (struct{}, error) {
//			_, err := events.PublishOrderShipped(ctx, tx, events.OrderShipped{OrderID: e.Payload.OrderID, Charge: charge.ID})
//			return struct{}{}, err
//		})
//		return err
//	}
//
// # Names
//
// A step is known by its name, and only by that: reorder steps, put new ones between, remove them. A new name is a new
// step. A name is used once in an attempt; steps in a loop have names that say what they are about: "mail/" + address.
// [Was] names what a step was called before.
//
// # Results
//
// A result is JSON. It is read strictly: a result that was stored as another type is not read as zeros, but makes a dead
// letter at once, with reason decode; [Reads] says how it is read. A decision must be a value: a declined card is a result
// with Declined set and not an error, because the next attempt asks again for what has failed.
//
// # Progress
//
// A stored step is progress. Failed attempts and crashes count since the last one, and the timeout of the subscription is
// that of the time between two. The settings of an event type that bound the whole are expires_after, and
// [runtime.WithMaxSteps].
//
// # Waiting
//
// [Sleep], [Until], [Await] and [AwaitAny] suspend the handler. A suspended delivery is a row in the file: it holds no worker, no goroutine and
// no memory, and counts neither as an attempt nor as a snooze. The attempt is suspended from then on: each later step and
// each publish of it returns [ErrSuspended] without doing anything, and what the handler returns does not matter. A handler
// that panics after it was suspended has failed. What it has published with its context before is dropped, and published
// by the attempt that succeeds: publish with [Tx] what others shall hear at once.
//
// A handler waits for an event by a key: a field of the payload that await_by names in the catalogue. For each such type there is
// a generated function:
//
//	parcel, err := events.AwaitParcelScanned(ctx, "parcel", e.Payload.OrderID, 72*time.Hour)
//	if errors.Is(err, step.ErrNoEvent) {
//		return runtime.Discard("no parcel within three days")
//	}
//	if err != nil {
//		return err // also when it begins to wait
//	}
//
// No event is missed, also one that comes before the call. A strict order waits for a suspended delivery as for a retry. A partition key does not.
//
// # Where
//
// Steps work in each ordinary handler of a bus whose events are in a file, also in a member of a group, whose steps are its
// own. They do not work in batches, in [runtime.SubscribeTx], in handlers that answer, in ephemeral subscriptions, on JetStream,
// and outside of handlers: the error matches [errors.ErrUnsupported] there, and says why.
//
// A replayed event has its steps done again. A dead letter keeps them, and goes on behind the last one when it is retried.
// Steps are kept as long as their event.
//
// The functions are safe for concurrent use, with a different name in each goroutine. Wait for such goroutines before the
// handler returns: after that their steps are not stored.
package step
