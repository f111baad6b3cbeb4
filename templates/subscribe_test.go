package templates

import "testing"

func TestSubscribeFunctionsGoFromOneEventToAll(t *testing.T) {
	c := parse(t, `
events:
  ml.run.started:
    timeout: 5m
    retry: { max_attempts: 1 }
`)
	emits(t, `
// SubscribeMLRunStarted calls handler for every ml.run.started, as the
// subscription called name. See [runtime.Subscribe].
//
// An attempt may take 5m. An event that fails is not tried again but kept as a
// dead letter.
func SubscribeMLRunStarted(bus *runtime.Bus, name string, handler runtime.Handler[MLRunStarted], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return runtime.Subscribe(bus, MLRunStartedType, name, handler, opts...)
}

// SubscribeML calls handler for every event of ml.*, as the subscription called
// name. A type switch over the payload tells the events apart; each is retried
// by the settings of its own type. See [runtime.SubscribeNamespace].
func SubscribeML(bus *runtime.Bus, name string, handler runtime.Handler[MLEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return runtime.SubscribeNamespace(bus, "ml.*", name, handler, opts...)
}

// SubscribeMLRun calls handler for every event of ml.run.*, as the subscription
// called name. A type switch over the payload tells the events apart; each is
// retried by the settings of its own type. See [runtime.SubscribeNamespace].
func SubscribeMLRun(bus *runtime.Bus, name string, handler runtime.Handler[MLRunEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return runtime.SubscribeNamespace(bus, "ml.run.*", name, handler, opts...)
}

// SubscribeAll calls handler for every event of this catalogue, as the
// subscription called name. A type switch over the payload tells the events
// apart; each is retried by the settings of its own type. See
// [runtime.SubscribeNamespace].
func SubscribeAll(bus *runtime.Bus, name string, handler runtime.Handler[AnyEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return runtime.SubscribeNamespace(bus, "*", name, handler, opts...)
}
`, subscribe(c)...)
}
