package buslog

import (
	"errors"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Refusal returns the class of an error with which the servers refuse to store or to read for a stream, and what to do. What
// passes by itself, such as that the stream has no leader, is no refusal.
func Refusal(err error, name string) (fault event.Fault, hint string, known bool) {
	if errors.As(err, new(*stream.DeniedError)) {
		return event.ReadOnly, "give the user this permission: docs/jetstream.md has all that a program needs", true
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return event.IO, tooLargeHint, true
	}
	refused := stream.Refused(err)
	switch {
	case refused == nil && errors.Is(err, stream.ErrTooLarge):
		return event.IO, tooLargeHint, true
	case refused == nil, errors.Is(refused, stream.ErrBusy):
		return "", "", false
	}
	switch refused.ErrCode {
	case 10077: // a message was not stored
		switch {
		case strings.Contains(refused.Description, "maximum bytes"), strings.Contains(refused.Description, "maximum messages"):
			return event.DiskFull, "raise the limit of the stream: nats stream edit " + name + " --max-bytes", true
		case strings.Contains(refused.Description, "no space left"):
			return event.DiskFull, "the disk of the server that leads the stream is full: make room on it, or let another one lead: nats stream cluster step-down " + name, true
		}
	case 10047, 10023, 10028:
		return event.DiskFull, "the servers, or the account, store as much as their limits allow: raise them (max_file_store of a server), or keep settled events for a shorter time (runtime.WithRetention)", true
	case 10002:
		return event.DiskFull, "the account stores as much as its limits allow: raise them, or keep settled events for a shorter time (runtime.WithRetention)", true
	case 10113:
		return event.IO, "the account wants each stream to have a limit: pass jetstream.Stream with a function that sets MaxBytes", true
	case 10122:
		return event.IO, "the account allows less than the MaxBytes of jetstream.Stream", true
	case 10026, 10027:
		return event.IO, "the account has as many streams or consumers as its limits allow; a process needs one consumer, and more while it reads old events", true
	case 10039, 10076:
		return event.IO, "JetStream is not enabled for the account of this user, or on these servers", true
	case 10005, 10074, 10120:
		if strings.Contains(refused.Description, "offline") {
			return event.IO, "a server of the cluster is away, and a stream that is made now would never use it: start it, or say with jetstream.Replicas how many keep the stream", true
		}
		return event.IO, "a stream has at most as many replicas as the cluster has servers: start more, or pass less to jetstream.Replicas", true
	case 10054, 10097:
		return event.IO, tooLargeHint, true
	case 10199:
		return event.IO, "publish fewer events at once, or raise limits { batch { max_msgs: … } } in the jetstream settings of the servers", true
	}
	return event.IO, "", true
}

const tooLargeHint = "raise max_payload of the servers, or store large data elsewhere and publish a reference to it"
