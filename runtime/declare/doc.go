// Package declare has what a catalogue declares of event types, as values: [Settings] of deliveries and what overrides
// them, the [Limit] that deliveries share, the [Subscription] that exists before a handler does, the [Schedule] by which
// the bus publishes, and the [Header] that metadata has. Generated code has the values of the catalogue; a program that
// tunes a bus, adds a limit, or writes an event type by hand has its own.
//
// The package imports nothing of a bus. Package [github.com/busgen/busgen/runtime] takes and shows these values:
// runtime.Spec, runtime.Tuning, runtime.WithLimit, runtime.WithLimits.
package declare
