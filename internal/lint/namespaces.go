package lint

import (
	"strings"

	"github.com/busgen/busgen/internal/catalog"
)

func namespace(e *catalog.Event) string {
	return e.Label()[:max(0, strings.LastIndexByte(e.Label(), '.'))]
}

// neighbours has the events of one namespace. Rules compare events with these, because a large catalogue
// has too many events to compare all of them.
type neighbours struct {
	events []*catalog.Event
	// partitioned has the first event with each field that is a partition key, by the field's name and type.
	partitioned []*catalog.Event
	started     map[string][]*catalog.Event // events that start a flow, by the name of the flow
	key         string                      // the id that most of them have in common
	keyOf       *catalog.Event              // the first event with that id
}

// neighbours returns the events of the namespace of e, including e.
func (p *pass) neighbours(e *catalog.Event) *neighbours {
	if p.byNamespace == nil {
		p.byNamespace = map[string]*neighbours{}
		partitions := map[[3]string]bool{}
		for _, e := range p.Events {
			ns := namespace(e)
			if p.byNamespace[ns] == nil {
				p.byNamespace[ns] = &neighbours{started: map[string][]*catalog.Event{}}
			}
			n := p.byNamespace[ns]
			n.events = append(n.events, e)
			if by := e.PartitionBy; by != nil && !partitions[[3]string{ns, by.Label(), by.Type.Text}] {
				partitions[[3]string{ns, by.Label(), by.Type.Text}] = true
				n.partitioned = append(n.partitioned, e)
			}
			if stem, begins := cutWord(e, startWords); begins {
				n.started[stem] = append(n.started[stem], e)
			}
		}
		for _, n := range p.byNamespace {
			n.findKey()
		}
	}
	return p.byNamespace[namespace(e)]
}

// findKey finds an id that at least three of the events, and at least two thirds of them, have.
func (n *neighbours) findKey() {
	all, having := 0, map[string][]*catalog.Event{}
	for _, e := range n.events {
		if e.Deprecated.Written() {
			continue
		}
		all++
		for _, f := range e.Fields {
			if name := f.Label(); isLink(f) && (strings.HasSuffix(name, "_id") || e.PartitionBy == f) {
				having[name] = append(having[name], e)
			}
		}
	}
	for name, events := range having {
		if count := len(events); count >= 3 && 3*count >= 2*all &&
			(n.key == "" || count > len(having[n.key]) || count == len(having[n.key]) && name < n.key) {
			n.key, n.keyOf = name, events[0]
		}
	}
}
