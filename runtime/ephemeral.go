package runtime

import (
	"context"
	"strings"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ephemeral"
)

// Ephemeral makes a subscription short-lived: for a web socket, a live view, a test. It
// gets the events that are published after Subscribe has returned, by this process or,
// within 200 ms, by another; delayed ones when they are due. It ends with
// [Subscription.Unsubscribe] or with the process, and leaves nothing in the file. To make
// one and to end it costs microseconds.
//
// The name is a label for logs, [Bus.Stats] and observers. It may be empty, need not be
// unique, and may be that of a durable subscription. The catalogue's settings of a declared
// subscription of the name do not apply; those of the event type do.
//
// It delivers as soon as it is made: on a bus that was not started, that stands by, or
// beside another process that dispatches from the file. Timeouts, retries, the breaker,
// concurrency, keys and priorities are those of every subscription. What is different:
//
//   - The file knows nothing of its deliveries. [Receipt.Wait], [Bus.WaitIdle], [Bus.Lag], the
//     status of an event, package inspect and WriteMetrics do not see them, [WithMaxPending]
//     does not count them, and pauses and cancels do not stop them.
//   - Retries wait in memory. After a crash, and after Unsubscribe, nothing is delivered again.
//   - What would become a dead letter is logged as an error, told to observers and counted,
//     with Ephemeral set, and dropped. There is no dead letter and no notice.
//   - It reads the log at the pace of its handler, with at most 256 events in memory, and the
//     same 1,024 more that wait for a retry or a snooze, and 1,024 delayed ones. A handler that
//     is slow lags behind and misses nothing, unless events are pruned before it has read
//     them ([WithRetention]): it passes over those, with a warning in the log, and says how
//     many they were when it is at the end of the log again. Of more delayed events the last
//     to be due are dropped, with a warning in the log.
//   - When a backup is restored into the file, it goes on at the end of that.
//   - Events that the handler publishes with its context are stored in one transaction when
//     the handler returns nil, before that counts as a success: if they cannot be stored, the
//     attempt has failed. They are not stored if it fails.
//
// [FromBeginning], [InGroup] and [WithAliases] beside it are refused with a
// *[SubscribeError], and so is Ephemeral for subscriptions to dead letters, whose notices
// are for durable names only, and for those that answer.
func Ephemeral() SubscribeOption {
	return func(c *subscribeConfig) error {
		c.ephemeral = true
		return nil
	}
}

// Ephemeral reports whether the subscription was made with [Ephemeral].
func (s *Subscription) Ephemeral() bool { return subscriptionOf(s).config.ephemeral }

// ephemeralProblem says which option makes no sense with Ephemeral, or "".
func (s *innerSubscription) ephemeralProblem() string {
	c, option := &s.config, ""
	switch {
	case c.fromBeginning:
		option = "FromBeginning: an ephemeral subscription begins with the next event"
	case c.group != "":
		option = "InGroup: the members of a group share what the file remembers, and it remembers nothing of an ephemeral subscription"
	case len(c.aliases) > 0:
		option = "WithAliases: the name of an ephemeral subscription is a label, under which the file has nothing"
	case s.dead:
		return "Ephemeral: notices of dead letters are stored for durable subscriptions only; leave it out"
	case s.answers != nil:
		return "Ephemeral: callers wait for the answers of durable subscriptions only; leave it out"
	default:
		return ""
	}
	return option + "; leave out FromBeginning, InGroup and WithAliases, or Ephemeral"
}

// fleeting is the engine's side of the feed of an ephemeral subscription.
type fleeting struct {
	number   uint64 // in the order in which they were made
	consumer *ephemeral.Consumer
}

// joinEphemeral makes the feed of an ephemeral subscription, and begins to deliver. It
// writes nothing. The caller is the one that changes subscriptions.
func (b *innerBus) joinEphemeral(ctx context.Context, s *innerSubscription) error {
	f := &feed{bus: b, name: s.name, all: []*dispatch.Handler{s.handler}, fleeting: &fleeting{}}
	f.members.Store(&[]*innerSubscription{s})
	watch, err := f.watch(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := s.confirm(); err != nil {
		watch.Close()
		return err
	}
	f.follow(watch)
	b.fleetings++
	f.fleeting.number = b.fleetings
	s.feed = f
	if b.ephemeral == nil {
		b.ephemeral = map[*feed]struct{}{}
	}
	b.ephemeral[f] = struct{}{}
	if b.observers.any() {
		b.runObservers() // they may be told of its breaker before the bus is started
	}
	f.start()
	return nil
}

// watch returns a consumer that begins at the end of the log.
func (f *feed) watch(ctx context.Context) (*ephemeral.Consumer, error) {
	watch, err := f.bus.log.Watch(ctx, engine.WatchSpec{Types: strings.Fields((*f.members.Load())[0].pattern), Deliverable: true})
	if err != nil {
		return nil, err
	}
	return ephemeral.New(watch, f.name, f.bus.config.logger), nil
}

// follow makes a consumer that of the feed. The caller holds the bus's mu.
func (f *feed) follow(consumer *ephemeral.Consumer) {
	if f.fleeting.consumer != nil {
		f.fleeting.consumer.Close()
	}
	f.fleeting.consumer, f.consumer = consumer, consumer
}

// storing returns a handler that stores what the handler has published with its context.
// Those of durable subscriptions have it stored with the record of their success.
func (s *innerSubscription) storing(handle func(a *dispatch.Attempt) error) func(a *dispatch.Attempt) error {
	return func(a *dispatch.Attempt) error {
		if err := handle(a); err != nil {
			return err
		}
		records, err := a.TakeStaged()
		if err != nil || len(records) == 0 {
			return err
		}
		stored, err := s.bus.appendStaged(a, records)
		if err != nil {
			return public(err)
		}
		a.HasStored()
		s.bus.published(stored)
		return nil
	}
}
