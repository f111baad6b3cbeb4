package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/busgen/busgen/runtime/event"
)

// Registry knows the event types and the subscriptions of a log.
type Registry interface {
	Remover

	// Declare makes event types known before the first event of each, and durable consumers exist before anyone polls
	// them. On an error neither changes, except that an engine may store schemas last. ConsumerSpec.Parallel is ignored.
	//
	// Records that were stored under an alias are handed out under the name. In a log whose types have newer names, this
	// process sees the names that it declares. Schemas are kept with the types.
	//
	// TypeSpec.Fits is asked about each other schema that the log has of a type, in any version and under any of its
	// names. If it returns an error, and the log has events of that name and version, Declare returns that error.
	Declare(ctx context.Context, types []TypeSpec, consumers []ConsumerSpec) error
}

// Remover removes subscriptions.
type Remover interface {
	// RemoveConsumer forgets a durable consumer and all that is kept for it, with an entry
	// of the actor in the audit. The Consumer of the name in this process, which nobody may
	// poll any more, ends. For a name that the log does not have now it returns a
	// *NotFoundError, and while another process dispatches an *OwnedError.
	RemoveConsumer(ctx context.Context, name, actor string) (event.Removed, error)
}

// TypeSpec names an event type.
type TypeSpec struct {
	Name    string
	Version int      // of the payloads that this process publishes; 0 stands for 1
	Aliases []string // names it had before
	Schema  string   // of the payload, for operators' tools; empty for none
	// AwaitBy are the names in JSON of the field of the payload whose value is the key by which deliveries wait for
	// events of the type, today's first; none if they cannot. An engine that is no Awaiter ignores it.
	AwaitBy []string
	Fits    func(stored event.Schema) error
}

// Unfit returns why what is stored under a name does not fit, if something else is stored.
func Unfit(specs []TypeSpec, written string, stored event.Schema) error {
	for _, spec := range specs {
		if spec.Name != written && !slices.Contains(spec.Aliases, written) || spec.Fits == nil || spec.Schema == stored.Text {
			continue
		}
		if err := spec.Fits(stored); err != nil {
			return err
		}
	}
	return nil
}

// ConsumerSpec names a durable consumer.
type ConsumerSpec struct {
	Name          string
	Pattern       string   // globs over event types, with spaces between them
	FromBeginning bool     // a new name starts with the oldest event kept
	Aliases       []string // names it had before; the one that is known gives it its position
	Extend        bool     // Pattern is added to that of a name that is known, instead of replacing it
	// Parallel says that several deliveries of the consumer may run at once. An
	// engine that spreads a subscription over processes then divides it by partition
	// key; without it one process at a time has all of the subscription.
	Parallel bool
	// Strict says that the deliveries have an order: none of them is express.
	Strict bool
	// Notice returns the dead-letter notice of a delivery that the engine makes a dead letter
	// by itself: to be staged. It is called without locks of the engine, and may be nil.
	Notice func(d *Delivery, v Disposition) []Record
}

// Over returns the pattern of a consumer whose stored pattern is the given one.
func (s ConsumerSpec) Over(pattern string) string {
	if !s.Extend {
		return s.Pattern
	}
	globs := strings.Fields(pattern)
	for _, one := range strings.Fields(s.Pattern) {
		if !slices.Contains(globs, one) {
			globs = append(globs, one)
		}
	}
	return strings.Join(globs, " ")
}
