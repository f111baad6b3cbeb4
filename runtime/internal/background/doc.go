// Package background holds what a bus does beside publishing and delivering:
// maintenance that repeats ([Prune], [Redrive]), calls that must not hold up their
// caller ([Queue]), and the report to other processes ([Activity]). Nothing that is
// delivered waits for any of it.
package background
