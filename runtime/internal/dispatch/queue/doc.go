// Package queue has what a subscription has polled and not begun: in the order of the log within a priority and a
// partition key. It knows which key is in use, lent, or held back for a retry, which deliveries are urgent because a
// handler waits for them, and which are parked until a limit has room. It decides nothing: what may begin now is decided
// by who takes deliveries out of it.
package queue
