// Package observe is what a bus tells about itself.
//
// An [Observer] has functions that a bus calls when something happens (runtime.WithObserver): an attempt begins, ends,
// fails; an event is published, is slow, becomes a dead letter; a circuit breaker opens. [Observer].Publishing and
// [Observer].Handling stand at the start of a call and of an attempt, and leave something with them: middleware for
// traces is made of these two.
//
// [Counts], [Rates] and [Histogram] are what runtime.Bus.Stats returns, by event type and by subscription.
// [HealthStatus] is what runtime.Bus.Health returns: [HealthCheck]s against the thresholds of a [Health].
//
// All of it are values; what needs a bus is in package runtime.
package observe
