package busprom

import "strings"

// others is the name of all that have no series of their own.
const others = "(others)"

// names decides which names have series of their own: those that come first, up to a limit. A name that
// has one keeps it, or counters would seem to begin anew.
type names struct {
	limit  int
	labels map[string]string // by name
	taken  map[string]bool   // labels
}

// of returns the label of a name. It is the name, unless that is not valid UTF-8.
func (n *names) of(name string) string {
	if label, known := n.labels[name]; known {
		return label
	}
	label := strings.ToValidUTF8(name, "�")
	if len(n.labels) >= n.limit || n.taken[label] || label == others {
		return others
	}
	if n.labels == nil {
		n.labels, n.taken = map[string]string{}, map[string]bool{}
	}
	name, label = strings.Clone(name), strings.Clone(label)
	n.labels[name], n.taken[label] = label, true
	return label
}
