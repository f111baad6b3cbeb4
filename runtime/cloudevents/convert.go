package cloudevents

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// The metadata of an event that was received has its attributes: NAME under metaPrefix+NAME.
const metaPrefix = "ce-"

// sameMeaning are the extensions that mean to the bus what they mean to others, with the keys
// that it has for them.
var sameMeaning = map[string]string{
	"correlationid": event.CorrelationKey,
	"traceparent":   "traceparent",
	"tracestate":    "tracestate",
}

// incoming returns what the bus stores of a CloudEvent.
func incoming(catalogue *runtime.Catalogue, e *Event) (runtime.JSONEvent, error) {
	names := catalogue.CloudEvents()
	name := catalogue.InsideName(e.Type)
	if name == "" {
		return runtime.JSONEvent{}, &UnknownTypeError{Type: e.Type, Prefix: names.TypePrefix}
	}
	t := catalogue.Lookup(name)
	stored := runtime.JSONEvent{Type: name, Payload: e.Data, Metadata: map[string]string{}, DedupeKey: keyOf(e), DedupeScope: keyScope}
	if e.Data == nil {
		stored.Payload = []byte("{}")
	}
	if e.DataSchema != "" {
		for version := 1; version < t.Version(); version++ {
			// Without {version} all versions have one URI, which stands for the newest.
			if uri := names.DataSchemaOf(t.Name(), version); uri == e.DataSchema && uri != names.DataSchemaOf(t.Name(), t.Version()) {
				stored.Version = version
			}
		}
	}
	e.visit(func(name, value string) {
		if key := sameMeaning[name]; key != "" {
			if value != "" && (name != "tracestate" || e.Extensions["traceparent"] != "") {
				stored.Metadata[key] = value
			}
			return
		}
		stored.Metadata[metaPrefix+name] = value
	})
	return stored, nil
}

// keyScope is that of the dedupe keys of events that were received: source and id are one event, whatever its
// type.
const keyScope = "cloudevents"

// keyOf returns the dedupe key of an event. It is a digest of source and id with their lengths,
// so that no two events have one because the end of a source looks like the beginning of an id.
func keyOf(e *Event) string {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(e.Source)))
	sum := sha256.Sum256([]byte(string(length[:]) + e.Source + e.ID))
	return "cloudevents:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// stored is an event of a log, by a handler or by an inspection.
type stored struct {
	id            uuid.UUID
	seq           int64
	eventType     string
	version       int
	publishedAt   time.Time
	payload       json.RawMessage
	metadata      map[string]string
	correlationID string
	parentID      uuid.UUID
	partitionKey  string // empty for none
}

// outgoing returns an event of the log as a CloudEvent. One that was received goes out as it came
// in: with its source and id it is the same event, wherever it goes, also back to where it is
// from.
func outgoing(names runtime.CloudEvents, s stored) Event {
	e := Event{Extensions: map[string]string{}, Data: s.payload}
	received := s.parentID == uuid.Nil && s.metadata[metaPrefix+"id"] != "" && s.metadata[metaPrefix+"source"] != ""
	own := map[string]*string{"id": &e.ID, "source": &e.Source, "type": &e.Type, "subject": &e.Subject, "time": &e.Time, "dataschema": &e.DataSchema}
	for key, value := range s.metadata {
		name, ok := strings.CutPrefix(key, metaPrefix)
		switch {
		case !ok || checkAttribute(name, value) != nil || name == "specversion" || name == "datacontenttype":
		case own[name] == nil:
			e.Extensions[name] = value
		case received || name == "subject":
			*own[name] = value
		}
	}
	if !received {
		e.ID, e.Source = s.id.String(), names.Source
		e.Time = s.publishedAt.UTC().Format(time.RFC3339Nano)
		e.Extensions["sequence"] = fmt.Sprintf("%019d", s.seq) // lexicographic order is that of the log
		setIf(e.Extensions, "partitionkey", s.partitionKey)
		if s.parentID != uuid.Nil {
			e.Extensions["causationid"] = s.parentID.String()
		}
	}
	// A stored event has this program's type and version, also one that was received.
	e.Type, e.DataSchema = names.TypeOf(s.eventType), names.DataSchemaOf(s.eventType, s.version)
	setIf(e.Extensions, "correlationid", s.correlationID)
	for _, name := range []string{"traceparent", "tracestate"} {
		setIf(e.Extensions, name, s.metadata[name])
	}
	maps.DeleteFunc(e.Extensions, func(name, value string) bool { return checkAttribute(name, value) != nil })
	return e
}

func setIf(extensions map[string]string, name, value string) {
	if value != "" {
		extensions[name] = value
	}
}
