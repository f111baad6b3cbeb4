// Package events reads events with their payloads, histories and examples, what subscribes to them, and when they are
// published by a schedule. [Events] and [Subscriptions] own what is declared so far.
package events
