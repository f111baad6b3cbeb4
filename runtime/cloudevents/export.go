package cloudevents

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// Export writes the events of a log that match, as lines of JSON: each line is one CloudEvent in the
// JSON format, the oldest first. It returns how many there are. names say what the events are
// called, and need a source. It reads the log in parts, so its memory does not grow with it.
// Payloads are as file shows them: [inspect.File.Hiding] hides sensitive values. Events of
// the bus itself, such as dead-letter notices, are left out.
func Export(ctx context.Context, w io.Writer, file *inspect.File, filter event.Filter, names runtime.CloudEvents) (int, error) {
	if names.Source == "" {
		return 0, &WebhookError{URL: "export", Problem: "the events need a source"}
	}
	keys := map[string]string{}
	n, after := 0, ""
	for {
		part, err := file.Follow(ctx, filter, event.Page{After: after})
		if err != nil {
			return n, err
		}
		if part.Restarted {
			return n, fmt.Errorf("export: the log was replaced, or a backup was restored into it, after %d events: export again", n)
		}
		for _, e := range part.Events {
			if e.Type[0] == '$' {
				continue
			}
			field, known := keys[e.Type]
			if !known {
				schema, err := file.Schema(ctx, e.Type)
				if err != nil {
					return n, err
				}
				field = keyField(string(schema.Text))
				keys[e.Type] = field
			}
			line, err := exported(e, names, field).MarshalJSON()
			if err != nil {
				return n, fmt.Errorf("export: event %s: %w", e.ID, err)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return n, err
			}
			n++
		}
		if after = part.Next; !part.More {
			return n, nil
		}
	}
}

func exported(e event.Event, names runtime.CloudEvents, keyField string) Event {
	s := stored{
		id: e.ID, seq: e.Seq, eventType: e.Type, version: e.Version, publishedAt: e.PublishedAt, payload: e.Payload,
		correlationID: e.CorrelationID, parentID: e.ParentID, partitionKey: keyIn(keyField, e.Payload),
	}
	json.Unmarshal(e.Metadata, &s.metadata) // written by the bus
	return outgoing(names, s)
}
