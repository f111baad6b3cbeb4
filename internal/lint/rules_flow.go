package lint

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

var flowCorrelation = Rule{
	Rule: rules.FlowCorrelation,
	Bad: `
events:
  order.placed: { payload: { order_id: uuid } }
  order.paid: { payload: { order_id: uuid } }
  order.sent: { payload: { order_id: uuid } }
  order.cancelled: { payload: { reason: string } }
  export.started: { payload: { path: string } }
  export.finished: { payload: { rows: int } }`,
	Good: `
types: { Order: { fields: { order_id: uuid } } }
events:
  order.placed: { payload: { order_id: uuid } }
  order.paid: { payload: { order_id: uuid } }
  order.sent: { payload: { order_id: uuid } }
  order.cancelled: { payload: { order: Order } }
  export.started: { payload: { path: string } }
  export.finished: { payload: { path: string, rows: int } }
  app.started: { payload: { version: string } }
  app.ended: { payload: { reason: string } }`,
	check: func(p *pass) {
		for _, e := range p.Events {
			if e.PartitionBy != nil || e.Deprecated.Written() || hasField(e.Fields, correlationFields...) {
				continue
			}
			if key, other := keyOfFlow(p, e); key != "" {
				f := p.report(e.Label(), e.Name.Pos, "give it the field "+key,
					"event %s has no %s, the field that connects the other events of %s.*", e.Label(), key, namespace(e))
				p.see(f, other.Name.Pos, "event %s has it", other.Label())
			} else if start := startWithoutLink(p, e); start != nil {
				f := p.report(e.Label(), e.Name.Pos, "give both the same field, such as an id, and partition_by",
					"event %s has no field in common with %s, so it cannot be matched with its start", e.Label(), start.Label())
				p.see(f, start.Name.Pos, "event %s is here", start.Label())
			}
		}
	},
}

// correlationFields lists names of fields that identify a flow.
var correlationFields = []string{"correlation_id", "causation_id", "trace_id", "flow_id"}

// keyOfFlow returns an id that e lacks, although most events of its namespace have it, and an event that
// has it. See findKey.
func keyOfFlow(p *pass, e *catalog.Event) (key string, other *catalog.Event) {
	n := p.neighbours(e)
	if namespace(e) == "" || n.key == "" || hasField(e.Fields, n.key) {
		return "", nil
	}
	return n.key, n.keyOf
}

// startWithoutLink returns the event that starts the flow that e ends, if the two have no field in common
// that identifies the flow.
func startWithoutLink(p *pass, e *catalog.Event) *catalog.Event {
	stem, ends := cutWord(e, endWords)
	if !ends || len(e.Fields) == 0 || stem == "" && isVague(namespace(e)) {
		return nil
	}
	for _, start := range p.neighbours(e).started[stem] {
		if len(start.Fields) == 0 || start.PartitionBy != nil || start.Deprecated.Written() {
			continue
		}
		linked := slices.ContainsFunc(start.Fields, func(a *catalog.Field) bool {
			return isLink(a) && hasField(e.Fields, a.Label())
		})
		if !linked {
			return start
		}
	}
	return nil
}

var (
	startWords = strings.Fields("started begun requested opened queued submitted scheduled")
	endWords   = strings.Fields("finished completed ended failed succeeded aborted")
)

// cutWord returns the last segment of an event's name without one of the words: backup for
// system.backup_finished.
func cutWord(e *catalog.Event, words []string) (stem string, found bool) {
	last := e.Label()[strings.LastIndexByte(e.Label(), '.')+1:]
	i := strings.LastIndexByte(last, '_')
	return last[:max(i, 0)], slices.Contains(words, last[i+1:]) && namespace(e)+last[:max(i, 0)] != ""
}

// isLink reports whether the values of a field can identify a flow.
func isLink(f *catalog.Field) bool {
	switch f.Type.Kind {
	case catalog.String, catalog.UUID, catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64:
		return true
	}
	return false
}

// hasField reports whether one of the fields, or a field of a struct among them, has one of the names.
func hasField(fields []*catalog.Field, names ...string) bool {
	return slices.ContainsFunc(fields, func(f *catalog.Field) bool {
		if slices.Contains(names, f.Label()) {
			return true
		}
		return f.Type.Kind == catalog.Named && slices.ContainsFunc(f.Type.Named.Fields, func(below *catalog.Field) bool {
			return slices.Contains(names, below.Label())
		})
	})
}
