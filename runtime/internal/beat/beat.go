// Package beat lets what looks again and again do that at the same moments in all buses of a
// process, and in all processes of a machine. Waking a thread costs more than most looks: a
// hundred buses that wake together wake the process five times in a second and not five hundred
// times.
//
// The beats of a period are the moments at which the wall clock shows a multiple of it. When
// the clock is set, one comes early, and none comes late.
package beat

import "time"

// Until returns how long it is until the next beat: more than nothing, and at most the period.
func Until(period time.Duration) time.Duration {
	return period - time.Duration(time.Now().UnixNano())%period
}

// Passed tells whether a beat lies between a moment and now, or as much time as a period.
func Passed(last time.Time, period time.Duration) bool {
	now := time.Now()
	return now.UnixNano()/int64(period) != last.UnixNano()/int64(period) || now.Sub(last) >= period
}
