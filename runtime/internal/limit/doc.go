// Package limit keeps limits: how many may run at once, and how many may begin within a
// time. It knows nothing of events and handlers.
//
//   - A [Set] has all limits of a bus, and one lock for them.
//   - A bucket is a limit for one key: the places in use, the rate, and the waiters
//     (bucket.go).
//   - A [Waiter] is something that needs room in one bucket or several, and gets all or
//     nothing (waiter.go). So waiters hold nothing, and cannot block each other in a circle.
//   - A [Grant] is what it has got. Its places can be lent and taken back (grant.go).
//   - An [Owner] is a scheduler with waiters. It is told when one of them may begin, and takes
//     the room itself: a place is never reserved for a scheduler that has no worker for it
//     (owner.go).
//   - [Set.Acquire] is for a goroutine that waits (acquire.go).
//   - What a rate has used is stored ahead, in leases (lease.go).
//
// Turns are first come, first served among the waiters that can take them: a waiter of an
// owner that does not listen is passed over, and keeps its turn.
package limit
