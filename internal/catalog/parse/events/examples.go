package events

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/payload"
)

// CheckSamples makes up the payloads of events without an example, and reports those of which no payload can be made up.
func (r *Events) CheckSamples() {
	bytes := 0
	for _, e := range r.declared.Events {
		if len(e.Examples) > 0 {
			continue
		}
		text, problem := payload.Sample(e)
		if e.MadeUp = text; problem != nil {
			r.Report(r.NameAt(e.Name), rules.Example, "busgen cannot generate an example of event %s: %s", e.Label(), problem).
				Hint = "add one under its key examples"
		}
		if bytes += len(text); bytes > maxSamples {
			r.Report(r.NameAt(e.Name), rules.Example, "the generated examples would be larger than %d MiB in total", maxSamples>>20).
				Hint = "add short ones under the key examples of events with large payloads, or make several catalogues"
			return
		}
	}
}

// maxSamples limits the bytes of all payloads that are made up. One line of a catalogue can declare an event
// whose payload is a thousand times as large.
var maxSamples = 64 << 20 // a variable for tests

// examples reads `examples:` of an event, and holds each against the payload
// if that could be read.
func (r *Events) examples(o text.Object, fields []*catalog.Field, payloadOK bool) []*catalog.Example {
	e, ok := o.Entries["examples"]
	if !ok {
		return nil
	}
	if e.Value.Kind != yaml.SequenceNode {
		r.WrongKind(e.Value, "examples of "+o.What, "a list of payloads")
		return nil
	}
	if len(e.Value.Content) == 0 {
		r.Report(r.Place(e.Value), rules.Example, "examples of %s is empty", o.What).
			Hint = "add a payload, or remove the key"
	}
	var examples []*catalog.Example
	for i, item := range e.Value.Content {
		what := fmt.Sprintf("example %d of %s", i+1, o.What)
		if text, ok := types.JSON(r.Reader, item, what, &catalog.TypeRef{Kind: catalog.Named, Named: &catalog.Type{Fields: fields}}, payloadOK, rules.Example); ok {
			examples = append(examples, &catalog.Example{JSON: text, Pos: r.Position(item)})
		}
	}
	return examples
}
