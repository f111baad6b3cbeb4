package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/transact"
)

// TxHandler handles one event within a transaction on the file of the bus. It is a
// [Handler] in everything else.
type TxHandler[T any] func(ctx context.Context, tx Tx, e Event[T]) error

// SubscribeTx calls handler for every event of one type, within a transaction: what the
// handler writes with its Tx, the events that it publishes with its Tx or its context, or that triggers publish,
// and the record that it has handled the event are stored together, or not at all. So the rows say
// exactly once what the event says, however the process dies. Take the event type from the
// generated package: runtime.SubscribeTx(bus, events.PaymentCapturedType, "ledger", handler).
//
// The transaction is that of [Transact], shared with all who write at that moment, and what
// is said there holds: the handler must be short (100 ms, [WithTxLimit]), may be called
// again within the attempt, and must have no effect but through its Tx. Middleware runs
// within the transaction, too. A handler that first has to call something slow uses
// [Subscribe] and [Atomically].
//
// If the transaction cannot be stored, because the disk is full or the file locked, the
// event is tried again after a second, and the attempt does not count. The timeout of the
// subscription begins when the transaction has its turn and the handler is called. The errors are those of
// [Subscribe]. It does not go with [InGroup] and [Ephemeral], and needs a bus whose events are
// in a file.
func SubscribeTx[T Payload](bus *Bus, t *EventType[T], name string, handler TxHandler[T], opts ...SubscribeOption) (*Subscription, error) {
	given := any(handler) // see eventType
	return subscribeTx(bus, t.of, name, handler == nil, given, func(ctx context.Context, tx Tx, h Head, payload any) error {
		return given.(TxHandler[T])(ctx, tx, typed[T](h, payload))
	}, opts)
}

func subscribeTx(bus *Bus, of AnyEventType, name string, none bool, given any, handler func(ctx context.Context, tx Tx, h Head, payload any) error, opts []SubscribeOption) (*Subscription, error) {
	t := of.(*eventType)
	s := &innerSubscription{bus: busOf(bus), name: name, pattern: t.spec.Name, transacts: true}
	within := func(ctx context.Context, h Head, payload any) error {
		run, _ := ctx.Value(txKey{}).(*txRun)
		if run == nil {
			return &MiddlewareError{s.name, "with a context that does not come from the one that it was given"}
		}
		return handler(ctx, Tx{run}, h, payload)
	}
	handle := func(a *dispatch.Attempt) error {
		payload, err := t.payloadFor(s, a)
		if err != nil {
			return err
		}
		again := false
		return s.bus.commit(a, false, func(run *txRun) error {
			p := payload
			if again { // the handler may have changed what it was given
				if p, err = t.payloadFor(s, a); err != nil {
					return err
				}
				a.Rewind()
			}
			again = true
			run.runs(given)
			err := t.callWithin(a, s, run, p, within)
			if err == nil {
				t.give(p)
			}
			return err
		})
	}
	if none {
		handle = nil
	}
	return s.subscribe(handle, innermost(s, t.of, t.unboxed(within)), opts)
}

// txKey is the key of the *txRun in the context of a TxHandler.
type txKey struct{}

// callWithin calls a handler, through its middleware, with a transaction.
func (t *eventType) callWithin(a *dispatch.Attempt, s *innerSubscription, run *txRun, payload any, handler typedHandler) error {
	ctx := context.WithValue(a.Given(), txKey{}, run)
	if s.around != nil {
		return s.around(ctx, eventOf(a, s.name, t.value(payload)))
	}
	return handler(ctx, newHead(a, s.name), payload)
}

// Atomically runs f in one transaction with the record that the handler whose ctx this is
// has handled its event, after the handler has returned nil. So a handler can do what takes
// time first, and leave what it wants to write:
//
//	receipt, err := gateway.Charge(ctx, e.Payload.OrderID)
//	if err != nil {
//		return err
//	}
//	return runtime.Atomically(ctx, func(tx runtime.Tx) error {
//		_, err := tx.ExecContext(ctx, "INSERT INTO charges (order_id, receipt) VALUES (?, ?)", e.Payload.OrderID, receipt)
//		return err
//	})
//
// Events that the handler has published with its context are stored in the same
// transaction. If f fails, the attempt has failed with its error, and nothing is stored. If the
// process dies before the transaction is stored, the handler is called again: what it did
// outside may happen twice, the rows are there once.
//
// f is a function of [Transact]: short, perhaps called twice, with no effect but through its Tx.
// Several run in their order, in one transaction. If the transaction cannot be stored,
// because the disk is full or the file locked, the event is tried again after a second, and
// the attempt does not count. The timeout of the subscription does not run while the
// transaction waits for its turn, and begins anew with it. That holds for ctx itself: what the
// handler has derived from it before, with [context.WithTimeout] or [context.WithCancel], keeps its
// first deadline. So give ctx to the statements of f.
//
// The error is [transact.ErrNotInHandler] if ctx is not the one of a handler, [transact.ErrNotAtomic] in a
// batch, in a group, in an [Ephemeral] subscription and in a handler that answers,
// [ErrAttemptOver] if the attempt is over, and [errors.ErrUnsupported] if the bus has no file.
func Atomically(ctx context.Context, f func(tx Tx) error) error {
	if f == nil {
		return errors.New("Atomically: the function is nil")
	}
	a := dispatch.FromContext(ctx)
	if a == nil {
		return transact.ErrNotInHandler
	}
	bus := a.Owner().(*innerBus)
	if _, err := bus.transactor(); err != nil {
		return fmt.Errorf("Atomically: %w", err)
	}
	return a.Atomically(func(tx engine.Tx) error {
		run := tx.(*txRun)
		run.runs(f)
		return f(Tx{run})
	})
}

// committing returns a handler that does what it has left for [Atomically].
func (s *innerSubscription) committing(handle func(a *dispatch.Attempt) error) func(a *dispatch.Attempt) error {
	return func(a *dispatch.Attempt) error {
		if err := handle(a); err != nil || !a.Commits() {
			return err
		}
		return s.bus.commit(a, true, func(*txRun) error { return nil })
	}
}

// commit runs f in a transaction that also has what the handler of an attempt has left to
// be done, and its success. handled says that the handler has returned.
func (b *innerBus) commit(a *dispatch.Attempt, handled bool, f func(run *txRun) error) error {
	ctx, err := a.Queue()
	if err != nil {
		return err
	}
	var own error // of the program
	err = b.transact(ctx, a, a.Settling(), nil, func(run *txRun) error {
		own = a.Turn(handled)
		if own == nil {
			own = f(run)
		}
		if own == nil {
			own = a.Commit(run)
		}
		return own
	})
	switch {
	case err == nil:
		a.HasStored()
		return nil
	case same(err, own):
		return err // its methods are code of the program
	case errors.Is(err, engine.ErrMoved), errors.As(err, new(*event.StorageError)): // it is another process's now, or cannot be stored
		return &errs.UncommittedError{Err: err}
	}
	return err
}

// same tells whether an error is the very one that the program has returned. Its type may
// be one that cannot be compared, or what it holds.
func same(err, own error) bool {
	if own == nil || reflect.TypeOf(err) != reflect.TypeOf(own) {
		return false
	}
	return !reflect.ValueOf(own).Comparable() || err == own
}

// txProblem says why a handler cannot run within a transaction, or "".
func (s *innerSubscription) txProblem() string {
	if s.config.elsewhere && s.config.ephemeral {
		return "an ephemeral subscription has no events that are handled once: subscribe with a name, or begin the transaction in the handler"
	}
	if !s.transacts {
		return ""
	}
	_, err := s.bus.transactor()
	switch {
	case err != nil:
		return err.Error()
	case s.config.ephemeral:
		return "an ephemeral subscription keeps no record of success that could be part of a transaction: subscribe with a name, or call Tx in the handler"
	case s.config.group != "":
		return "a member of a group cannot handle events in a transaction, because the group records its success when all members have handled the event"
	}
	return ""
}
