package busotel

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"

	"github.com/busgen/busgen/runtime/observe"
)

// system is the messaging.system of everything.
const system messagingconv.SystemAttr = "busgen"

// The names of the operations. That of publishing is of the type send.
const (
	publish = "publish"
	process = "process"
	settle  = "settle"
)

// What the conventions have no name for.
const (
	attemptKey     = attribute.Key("busgen.attempt")      // 1 for the first
	outcomeKey     = attribute.Key("busgen.outcome")      // handled, retried, dead, snoozed, discarded, released
	reasonKey      = attribute.Key("busgen.reason")       // of a dead letter, or given to Discard
	dueKey         = attribute.Key("busgen.due")          // when the next attempt is
	stagedKey      = attribute.Key("busgen.staged")       // the event is stored with the success of the handler
	duplicatesKey  = attribute.Key("busgen.duplicates")   // events that were not stored, because their dedupe keys were known
	ephemeralKey   = attribute.Key("busgen.ephemeral")    // the subscription is not durable
	replayedKey    = attribute.Key("busgen.replayed")     // the subscription had handled the event before
	stepKey        = attribute.Key("busgen.step")         // the name of a step
	stepKindKey    = attribute.Key("busgen.step.kind")    // do, tx, sleep, await or undo
	stepStoredKey  = attribute.Key("busgen.step.stored")  // as what the step was stored; not there if it was not
	batchDoneKey   = attribute.Key("busgen.batch.done")   // events of a batch that were handled
	batchFailedKey = attribute.Key("busgen.batch.failed") // events of a batch that have failed
)

// operation returns the attributes that every span of an operation has.
func operation(name string, kind messagingconv.OperationTypeAttr, eventType string) []attribute.KeyValue {
	return append(make([]attribute.KeyValue, 0, 12), // room for those that follow
		semconv.MessagingSystemKey.String(string(system)), semconv.MessagingOperationName(name),
		semconv.MessagingOperationTypeKey.String(string(kind)), semconv.MessagingDestinationName(eventType))
}

// subscription returns the attributes that say whose handler it is. The names of ephemeral
// subscriptions are not among those of metrics: there may be thousands.
func subscription(i observe.AttemptInfo, forMetrics bool) []attribute.KeyValue {
	var all []attribute.KeyValue
	if !i.Ephemeral || !forMetrics && i.Subscription != "" {
		all = append(all, semconv.MessagingDestinationSubscriptionName(i.Subscription))
	}
	if i.Group != "" {
		all = append(all, semconv.MessagingConsumerGroupName(i.Group))
	}
	if i.Ephemeral {
		all = append(all, ephemeralKey.Bool(true))
	}
	return all
}

// textLimit bounds the texts of errors, in bytes.
const textLimit = 1 << 10

// plain returns a text that can be sent: valid, and not too long.
func plain(text string) string {
	if len(text) > textLimit {
		cut := textLimit
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}
