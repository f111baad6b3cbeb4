package runtime

import "reflect"

// Types that programs name show nothing of what is behind them: a [Bus], a [Subscription], an [EventType], an
// [Event], a [Receipt], a [Tx]. The compiler reads all that a type leads to, by its fields and by the parameters of its
// unexported methods, in each package that names the type, and compiles some of it again, such as the methods of each
// atomic.Pointer: 0.3 s and 1.6 MB of object code in every such package, when a Bus showed its fields. So they hold it
// as any, and what is not exported is a method of what is behind them. A test says what they may lead to.

// busOf returns what is behind a bus.
func busOf(b *Bus) *innerBus {
	if b == nil || b.inner == nil {
		panic("there is no bus: use what Open returns, and only if it returns no error")
	}
	return b.inner.(*innerBus)
}

// subscriptionOf returns what is behind a subscription.
func subscriptionOf(s *Subscription) *innerSubscription { return s.inner.(*innerSubscription) }

// runOf returns what is behind a transaction; nil for the zero Tx.
func runOf(t Tx) *txRun {
	run, _ := t.inner.(*txRun)
	return run
}

// typeOf returns what is behind an event type.
func typeOf(t Definition) *eventType { return t.Any().definition().(*eventType) }

// pointedTo returns the type that a pointer, which may be nil, points to. Generic code names types by such pointers: with
// a reflect.Type it would lead to package reflect.
func pointedTo(pointer any) reflect.Type { return reflect.TypeOf(pointer).Elem() }
