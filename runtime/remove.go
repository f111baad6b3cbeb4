package runtime

import (
	"context"
	"fmt"
	"slices"
)

// RemoveError says why [Bus.Remove] does not remove a subscription. Nothing was done.
type RemoveError struct {
	Subscription string
	Problem      string
}

// Error names the subscription.
func (e *RemoveError) Error() string {
	return fmt.Sprintf("remove subscription %q: %s", e.Subscription, e.Problem)
}

// Remove ends a durable subscription, or a group by its name, for good: its handler, if
// this bus has one, and what the file has of it. Open events are settled by that, and its
// dead letters, the record of its failures and its pause are deleted. The events themselves
// stay. It is what "busgen subscriptions remove" does, for a program that goes on. The log
// has a line with the numbers, and the audit an entry. Whoever subscribes with the name
// afterwards makes a new subscription.
//
// Remove first detaches the handler as [Subscription.Unsubscribe] does, and waits for the
// one that is running, as that does. If ctx ends before the file is changed, the error is that of ctx, and
// the subscription is in the file, without a handler. The removal is one transaction, for
// which publishers wait: up to a second for a hundred thousand dead letters. It is safe to
// call at the same time from several goroutines. The other errors are:
//
//   - *[event.NotFoundError]: no subscription of the file has the name now; Known lists those that do
//   - *[RemoveError]: the catalogue declares the name, so the next Open would make it again
//   - [ErrInsideHandler]: a handler of the subscription calls Remove
//   - *[event.OwnedError]: another process dispatches from the file, and may be handling its events
//   - [ErrShutdown], *[event.StorageError]
func (b *Bus) Remove(ctx context.Context, name string) error { return busOf(b).remove(ctx, name) }

func (b *innerBus) remove(ctx context.Context, name string) error {
	defer b.keep()
	declared, known := b.catalogue.declared[name]
	if known && declared.Group == "" || b.catalogue.group(name) != nil {
		return &RemoveError{name, "the catalogue declares it, and the next start would make it again; remove it from the catalogue first"}
	}
	b.mu.Lock()
	if b.state == stopping {
		b.mu.Unlock()
		return ErrShutdown
	}
	f := b.feedNamed(name)
	running := b.state == running
	b.mu.Unlock()
	if f != nil && b.onWorker(f) {
		return ErrInsideHandler
	}
	if f != nil && running {
		if err := (*f.members.Load())[0].unsubscribe(ctx); err != nil {
			return err
		}
	}

	end, err := b.change(ctx) // nobody subscribes with the name meanwhile
	if err != nil {
		return err
	}
	defer end()
	f, err = b.mayRemove(name)
	if err != nil {
		return err
	}
	removed, err := b.log.RemoveConsumer(ctx, name, thisProcess())
	if err != nil {
		return public(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if f != nil { // it was never started
		if f.detached == nil {
			f.detached = make(chan struct{})
			close(f.detached)
		}
		b.subscriptions = slices.DeleteFunc(slices.Clone(b.subscriptions), func(s *innerSubscription) bool { return s.feed == f })
		b.setFeeds(slices.DeleteFunc(slices.Clone(b.feeds), func(other *feed) bool { return other == f }))
	}
	b.config.logger.Info("subscription is removed", "subscription_id", name, "open", removed.Open, "dead", removed.Dead)
	return nil
}
