package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/exact"
)

// Payload is implemented by generated payload structs. Validate returns nil
// or a *[ValidationError] with everything that is wrong.
type Payload interface {
	Validate() error
}

// Priority orders the deliveries that wait in one subscription: one of a high
// priority overtakes the others that wait there, except earlier ones of its own
// partition key. A waiting delivery is overtaken at most eight times in a row, so
// that low ones are not starved. Critical and high ones overtake a backlog of any length, but not
// in a strict order, if their type has a partition key, or on JetStream: there, and if they are
// normal, they overtake only what the subscription has in memory, at most 256 deliveries.
type Priority int

// The priorities. PriorityNormal is the default.
const (
	PriorityNormal = Priority(queue.Normal)
	PriorityHigh   = Priority(queue.High)
	PriorityLow    = Priority(queue.Low)
	// PriorityCritical goes ahead of PriorityHigh. A dead letter of it is an alert: see
	// [observe.Observer].Alert.
	PriorityCritical = Priority(queue.Critical)
)

// Spec describes an event type, for [Define]. Code that busgen generates has a [bind.Description].
type Spec[T Payload] struct {
	Name     string           // the wire name: order.placed
	Doc      string           // from the catalogue
	Settings declare.Settings // in force unless a subscription overrides them
	Priority Priority
	// PartitionBy returns the key within which deliveries keep the order of
	// the log, for subscriptions with [WithConcurrency]. Nil for none.
	PartitionBy func(T) string
	// DedupeBy returns the dedupe key of an event that is published without
	// [WithDedupeKey], as if that had been given: each event of a batch has its own. An
	// empty text, and the text of the UUID of zeros, are no key. Of a text that is longer
	// than 200 bytes, or not UTF-8, the key is a digest. If it panics, the event is refused
	// with an *[InvalidPayloadError]. Nil for none.
	//
	// Events of schedules, those of [Request] and [Collect], replays, redrives, imports and
	// dead-letter notices have no key.
	DedupeBy func(T) string
	// AwaitBy is the field of the payload whose value is the key by which handlers wait for the
	// event: its name in JSON, and then those that it had before. Its value is a text, a number, true or
	// false; an empty text is no key, and texts that are UUIDs are compared as such. The file
	// keeps the keys beside the events. Empty for none.
	AwaitBy []string
	// LimitKeys return the values by which limits are kept apart, by the path of the field
	// ([declare.LimitUse].By). Like PartitionBy they run code of the payload only.
	LimitKeys map[string]func(T) string
	// Version is that of the payload, from 1 on; 0 stands for 1. It is stored with
	// every event.
	Version int
	// Upcasts read what is stored of versions before: one after the other they lead
	// from the oldest that can be read to Version.
	Upcasts []Upcast
	// Aliases are names that the type had before. What is stored under them is
	// delivered as this type.
	Aliases []string
	// Shape is a digest of the payload and the fields that are keys, by which package
	// tuning tells whether a catalogue file is still that of the code.
	Shape string
	// Schema describes the payload, of this version and of those that can be read, as
	// one line of JSON that busgen writes. [Open] stores it in the file, and
	// "busgen dlq edit" checks a corrected payload with it. Without it that command
	// needs the catalogue.
	Schema string
	// Subscriptions are the names that the catalogue declares for this type.
	// They exist from [Open] on.
	Subscriptions []declare.Subscription
	// Schedules say when the bus publishes events of this type.
	Schedules []declare.Schedule
	// Headers are the keys of the metadata that have types. Two have no name in common.
	Headers []declare.Header
}

// Definition is what a catalogue is made of: an *[EventType], or an [AnyEventType].
type Definition interface {
	Name() string // the wire name, such as order.placed
	Any() AnyEventType
}

// AnyEventType is an [EventType] of any payload. [EventType.Any] and [Catalogue.Lookup] return it. It is
// immutable and safe for concurrent use.
type AnyEventType interface {
	Definition

	Doc() string
	Settings() declare.Settings
	Priority() Priority
	Shape() string
	Schema() string
	Version() int
	Aliases() []string
	Subscriptions() []declare.Subscription
	Schedules() []declare.Schedule
	Headers() []declare.Header

	definition() any // the *eventType: what the rest of the package works with
}

// Catalogue is the set of event types a bus is opened with. It is immutable
// and safe for concurrent use.
type Catalogue struct {
	types    []AnyEventType
	named    map[string]AnyEventType       // by name and by alias
	declared map[string]declared           // by name of the subscription
	patterns []declare.PatternSubscription // in the order of the catalogue file
	groups   []*declaredGroup              // whose members are declared, in the order of their first members
	limits   []declare.Limit
	outside  CloudEvents       // what the event types are called there
	inside   map[string]string // their names and aliases, by what they are called there; nil if nothing says it
}

// Types returns the event types, in the order of the catalogue file.
func (c *Catalogue) Types() []AnyEventType { return slices.Clone(c.types) }

// Lookup returns the event type of a wire name, which may be one that it had
// before, or nil.
func (c *Catalogue) Lookup(name string) AnyEventType { return c.named[name] }

// Check reports whether payload is the JSON of an event as a program of the given
// version would publish it: it is valid UTF-8, has no key twice, decodes, has every
// required field and no unknown one, and passes Validate. One of an old version must
// survive its upcasts too. Otherwise the error is an *[UnknownTypeError], or an
// *[InvalidPayloadError] that says what is wrong with which field.
//
// It is stricter than the bus, which reads events of other versions of the
// catalogue: what a person writes should be exactly right. The option WithEditing
// of package inspect takes it.
func (c *Catalogue) Check(eventType string, version int, payload []byte) error {
	t := c.Lookup(eventType)
	if t == nil {
		return &UnknownTypeError{EventType: eventType}
	}
	if _, err := checked(t, version, payload); err != nil {
		return &InvalidPayloadError{EventType: eventType, Err: err}
	}
	return nil
}

// declared is a declared subscription.
type declared struct {
	declare.Subscription
	pattern   string           // the event type that it is for or, byPattern, patterns with blanks between them
	byPattern bool             // it is a [declare.PatternSubscription], whose settings are those of the event types with its own
	own       declare.Override // byPattern
}

// NewCatalogue returns the catalogue of the given types. It panics if two of
// them, two of the subscriptions and groups they declare, or two of their schedules have the
// same name; an alias is a name too.
func NewCatalogue(types ...Definition) *Catalogue {
	c := &Catalogue{named: map[string]AnyEventType{}, declared: map[string]declared{}}
	schedules := map[string]string{} // the event types, by name of the schedule
	for _, d := range types {
		t := typeOf(d)
		c.types = append(c.types, t)
		for _, name := range append(t.Aliases(), t.Name()) {
			if c.named[name] != nil {
				panic(fmt.Sprintf("runtime.NewCatalogue: two event types are named %s", name))
			}
			c.named[name] = t
		}
		for _, s := range t.Subscriptions() {
			if other, taken := c.declared[s.Name]; taken {
				panic(fmt.Sprintf("runtime.NewCatalogue: %s and %s both declare a subscription %q", other.pattern, t.Name(), s.Name))
			}
			c.declared[s.Name] = declared{Subscription: s, pattern: t.Name()}
			c.addToGroup(s, t.Name())
		}
		for _, s := range t.Schedules() {
			if other, taken := schedules[s.Name]; taken {
				panic(fmt.Sprintf("runtime.NewCatalogue: %s and %s both have a schedule %q", other, t.Name(), s.Name))
			}
			schedules[s.Name] = t.Name()
		}
	}
	c.checkGroups("runtime.NewCatalogue")
	return c
}

// checkGroups panics if a group has the name of a subscription.
func (c *Catalogue) checkGroups(function string) {
	for _, g := range c.groups {
		if other, taken := c.declared[g.name]; taken {
			panic(fmt.Sprintf("%s: %s declares a subscription %q, and there is a group of this name", function, other.pattern, g.name))
		}
	}
}

// checked returns the payload of the newest version that JSON stands for, if Check takes it.
func checked(t AnyEventType, version int, payload []byte) (value any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicError(cause)
		}
	}()
	err = exact.Check(payload, func(payload []byte) (any, error) { return typeOf(t).decodeAs(version, payload) })
	if err != nil {
		return nil, err
	}
	return typeOf(t).decode(&engine.Record{Version: version, Payload: payload})
}

// Generated code states which generation contract it was written for, and
// this package states which ones it understands. Each generated catalogue
// holds two constants of type [FitsGenerated] that overflow, and so do not
// compile, when the two have drifted apart. NewestContract grows with every
// change to what generated code expects of the runtime packages; OldestContract
// follows when an old form is no longer understood.
//
// These names stay in this package, because code of every contract refers to them here.
const (
	OldestContract = 1
	NewestContract = 1
)

// FitsGenerated is the type of the compile-time checks in generated code. It
// is unsigned so that a negative difference is a compile error.
type FitsGenerated uint

// patternOf returns the patterns with blanks between them.
func patternOf(s declare.PatternSubscription) string { return strings.Join(s.Patterns, " ") }

// WithSubscriptions adds subscriptions for patterns to a catalogue, and returns it. It panics if one is not valid, if
// it matches no event type, or if its name is there already. Generated code calls it before anything else uses the
// catalogue.
func (c *Catalogue) WithSubscriptions(subscriptions ...declare.PatternSubscription) *Catalogue {
	const function = "runtime.Catalogue.WithSubscriptions"
	for _, s := range subscriptions {
		if problem := c.patternProblem(s); problem != "" {
			panic(fmt.Sprintf("%s: subscription %q: %s", function, s.Name, problem))
		}
		d := declare.Subscription{Name: s.Name, Aliases: s.Aliases, Group: s.Group, GroupAliases: s.GroupAliases}
		c.declared[s.Name] = declared{Subscription: d, pattern: patternOf(s), byPattern: true, own: s.Own}
		c.addToGroup(d, s.Patterns...)
		c.patterns = append(c.patterns, s)
	}
	c.checkGroups(function)
	return c
}

// PatternSubscriptions returns the subscriptions for patterns, in the order of the catalogue file.
func (c *Catalogue) PatternSubscriptions() []declare.PatternSubscription {
	return slices.Clone(c.patterns)
}

// patternProblem says what is wrong with a subscription for patterns, or "".
func (c *Catalogue) patternProblem(s declare.PatternSubscription) string {
	if problem := nameProblem(s.Name); problem != "" {
		return problem
	}
	if other, taken := c.declared[s.Name]; taken {
		return "it is declared for " + other.pattern + " already"
	}
	for _, group := range append(slices.Clone(s.GroupAliases), s.Group) {
		if problem := nameProblem(group); problem != "" && s.Group+group != "" {
			return fmt.Sprintf("group %q: %s", group, problem)
		}
	}
	for _, one := range s.Patterns {
		if _, err := glob.Parse(one); err != nil {
			return err.Error()
		}
	}
	matches := false
	for _, t := range c.types {
		if !s.Covers(t) {
			continue
		}
		matches = true
		if err := s.For(t).Validate(); err != nil {
			return fmt.Sprintf("its settings for %s: %v", t.Name(), err)
		}
	}
	if !matches {
		return "no event type of the catalogue matches " + patternOf(s)
	}
	return ""
}
