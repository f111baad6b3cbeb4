package engine

// Sight reports whether somebody finds a text in a part of an event, in what he may see of it. The part is one of its
// texts: the payload itself, its metadata, its correlation id, or the error of an attempt.
type Sight func(eventType string, version int, payload, part []byte, text string) bool

// SeenThrough returns the filter of somebody who may not see everything. The Text and the CorrelationID of a filter
// then choose an event only by what he sees of it: else he could read the rest by asking for one text after the other.
func SeenThrough(f Filter, s Sight) Filter {
	f.sight = s
	return f
}

// SightOf returns what limits a filter; nil for nothing.
func SightOf(f Filter) Sight { return f.sight }
