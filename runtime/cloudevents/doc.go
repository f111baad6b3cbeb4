// Package cloudevents lets events of other programs into a bus, and those of a bus out to them, as
// CloudEvents (https://cloudevents.io, version 1.0.2). A bus stores its events in a form of its own;
// CloudEvents are what they are at its edges.
//
//	mux.Handle("/events", cloudevents.Receive(bus))
//
//	cloudevents.Forward(bus, "order.*", "partner", cloudevents.Webhook{
//		URL:     "https://partner.example/events",
//		Secrets: []string{os.Getenv("PARTNER_SECRET")},
//	})
//
// [Receive] is a handler for HTTP in the modes binary, structured and batched. [Forward] and
// [ForwardBatches] are durable subscriptions that post to a webhook. [Export] writes a log as lines of
// JSON.
//
// What the events are called outside, their source, types and schemas, is said before the bus is
// opened, with [runtime.Catalogue.WithCloudEvents]:
//
//	events.Catalogue.WithCloudEvents(runtime.CloudEvents{Source: "https://shop.example", TypePrefix: "com.example."})
//
// The manual is docs/cloudevents.md. Programs that do not import this package link nothing of it.
package cloudevents
