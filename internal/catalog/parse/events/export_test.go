package events

// MaxSamples is for tests.
var MaxSamples = &maxSamples
