// Package background runs the tasks of a bus beside publishing and delivering:
// periodic maintenance ([Prune], [Redrive], [TakeIn]), calls that must not block their caller
// ([Queue]), and the report to other processes ([Activity]). Deliveries never wait
// for these tasks.
package background
