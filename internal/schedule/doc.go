// Package schedule computes the times of schedules: cron expressions in a time zone
// ([Cron]), and intervals that are counted from a fixed moment. A [Rule] is one or the
// other, as the catalogue and the file of a bus have it.
//
// It is shared by the compiler, which checks the schedules of a catalogue, by the bus,
// which publishes their events, and by busgen, which lists their next times.
package schedule
