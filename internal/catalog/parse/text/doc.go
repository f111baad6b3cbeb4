// Package text reads YAML: where a node is written, what YAML takes it for, and the values that a catalogue has
// everywhere, such as numbers, durations and words. A [Reader] owns what is wrong with one catalogue. It knows
// nothing of events.
package text
