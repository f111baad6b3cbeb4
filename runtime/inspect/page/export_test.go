package page

import "testing"

// LookThrough makes pages look through so many events at most until the test has ended.
func LookThrough(t *testing.T, events int) {
	all, byStatus := mostLooked, mostLookedByStatus
	t.Cleanup(func() { mostLooked, mostLookedByStatus = all, byStatus })
	mostLooked, mostLookedByStatus = events, events
}
