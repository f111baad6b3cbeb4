package runtime

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/exact"
)

// Payload is what a generated payload struct implements. Validate returns nil
// or a *[ValidationError] with everything that is wrong.
type Payload interface {
	Validate() error
}

// Priority orders the deliveries that wait in one subscription: one of a high
// priority overtakes the others that wait there, except earlier ones of its own
// partition key. A waiting delivery is overtaken at most eight times in a row, so
// that low ones are not starved.
type Priority int

// The priorities. PriorityNormal is the default.
const (
	PriorityNormal = Priority(dispatch.Normal)
	PriorityHigh   = Priority(dispatch.High)
	PriorityLow    = Priority(dispatch.Low)
)

// Spec is what generated code says about an event type.
type Spec[T Payload] struct {
	Name     string   // the wire name: order.placed
	Doc      string   // from the catalogue
	Settings Settings // in force unless a subscription overrides them
	Priority Priority
	// PartitionBy returns the key within which deliveries keep the order of
	// the log, for subscriptions with [WithConcurrency]. Nil for none.
	PartitionBy func(T) string
	// Version is that of the payload, from 1 on; 0 stands for 1. It is stored with
	// every event.
	Version int
	// Upcasts read what is stored of versions before: one after the other they lead
	// from the oldest that can be read to Version.
	Upcasts []Upcast
	// Aliases are names that the type had before. What is stored under them is
	// delivered as this type.
	Aliases []string
	// Shape is a digest of the payload and the partition key, by which package
	// tuning tells whether a catalogue file is still that of the code.
	Shape string
	// Schema describes the payload, of this version and of those that can be read, as
	// one line of JSON that busgen writes. [Open] stores it in the file, and
	// "busgen dlq edit" checks a corrected payload with it. Without it that command
	// needs the catalogue.
	Schema string
	// Subscriptions are the names that the catalogue declares for this type.
	// They exist from [Open] on.
	Subscriptions []DeclaredSubscription
}

// DeclaredSubscription is a durable name that the catalogue declares, with the
// settings that apply unless the call that subscribes overrides them.
type DeclaredSubscription struct {
	Name     string
	Settings Settings
	Aliases  []string // names it had before
}

// EventType describes one event type. Generated code holds one for each event
// of the catalogue. It is immutable and safe for concurrent use.
type EventType[T Payload] struct {
	spec    Spec[T]
	codec   *wire.Codec[T]
	sharing sharing
	clones  bool    // generated code copies a shared payload
	copy    *copier // copies it otherwise; nil if assigning does
}

// cloner is implemented by pointers to generated payloads.
type cloner[T any] interface{ Clone() T }

// Define returns the event type that spec describes. It panics if spec could
// not have come from busgen: a name or a policy that is not valid.
func Define[T Payload](spec Spec[T]) *EventType[T] {
	if err := glob.ValidName(spec.Name); err != nil {
		panic(fmt.Sprintf("runtime.Define: %v", err))
	}
	if err := spec.Settings.Validate(); err != nil {
		panic(fmt.Sprintf("runtime.Define(%s): %v", spec.Name, err))
	}
	spec.Version = max(spec.Version, 1)
	if problem := chainProblem(spec.Upcasts, spec.Version, reflect.TypeFor[T]()); problem != "" {
		panic(fmt.Sprintf("runtime.Define(%s): %s", spec.Name, problem))
	}
	for _, alias := range spec.Aliases {
		if err := glob.ValidName(alias); err != nil {
			panic(fmt.Sprintf("runtime.Define(%s): alias %q: %v", spec.Name, alias, err))
		}
	}
	for _, s := range spec.Subscriptions {
		if problem := nameProblem(s.Name); problem != "" {
			panic(fmt.Sprintf("runtime.Define(%s): subscription %q: %s", spec.Name, s.Name, problem))
		}
		if err := s.Settings.Validate(); err != nil {
			panic(fmt.Sprintf("runtime.Define(%s): subscription %q: %v", spec.Name, s.Name, err))
		}
	}
	t := &EventType[T]{
		spec:    spec,
		codec:   wire.NewCodec[T](),
		sharing: sharingOf(reflect.TypeFor[T](), map[reflect.Type]bool{}),
	}
	if _, clones := any(new(T)).(cloner[T]); clones && t.codec.Generated() {
		t.clones = true
	} else if t.sharing == byCopy {
		t.copy = copierOf(reflect.TypeFor[T](), map[reflect.Type]*copier{})
	}
	return t
}

// Name returns the wire name, such as order.placed.
func (t *EventType[T]) Name() string { return t.spec.Name }

// Doc returns the catalogue's documentation.
func (t *EventType[T]) Doc() string { return t.spec.Doc }

// Settings returns the settings of the catalogue.
func (t *EventType[T]) Settings() Settings { return t.spec.Settings }

// Shape returns the digest of the payload, empty for code that has none.
func (t *EventType[T]) Shape() string { return t.spec.Shape }

// Schema returns the description of the payload that is stored in the file, empty
// for code that has none.
func (t *EventType[T]) Schema() string { return t.spec.Schema }

// Priority returns the priority of the catalogue.
func (t *EventType[T]) Priority() Priority { return t.spec.Priority }

// Version returns the version of the payloads that are published, from 1 on.
func (t *EventType[T]) Version() int { return t.spec.Version }

// Aliases returns the names that the type had before.
func (t *EventType[T]) Aliases() []string { return slices.Clone(t.spec.Aliases) }

// Subscriptions returns the names that the catalogue declares for this type.
func (t *EventType[T]) Subscriptions() []DeclaredSubscription {
	return slices.Clone(t.spec.Subscriptions)
}

func (t *EventType[T]) decode(r *engine.Record) (any, error) { return t.decodeTyped(r) }

// decodeTyped returns a payload that nobody else has.
func (t *EventType[T]) decodeTyped(r *engine.Record) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = t.decodingPanicked("copied", cause)
		}
	}()
	if r.Memo == nil || t.sharing == unshared {
		return t.parse(r)
	}
	shared, err := r.Memo.Get(func() (any, error) {
		value, err := t.parse(r)
		return &value, err
	})
	original, ok := shared.(*T)
	if err != nil || !ok { // of another program's type of the same name
		return t.parse(r)
	}
	switch {
	case t.clones:
		return any(original).(cloner[T]).Clone(), nil
	case t.copy != nil:
		return copied(*original, *t.copy), nil
	}
	return *original, nil
}

func copied[T any](value T, c copier) T {
	c(reflect.ValueOf(&value).Elem())
	return value
}

// parse decodes the payload of a record, whose version may be an older one.
func (t *EventType[T]) parse(r *engine.Record) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = t.decodingPanicked("decoded", cause)
		}
	}()
	if version := max(r.Version, 1); version != t.spec.Version {
		return t.lift(version, r.Payload)
	}
	value, err = t.codec.Decode(r.Payload)
	if err != nil {
		return value, t.misfit(value, t.spec.Version, err)
	}
	return value, nil
}

// decodeAs decodes a payload as what it was published as.
func (t *EventType[T]) decodeAs(version int, payload []byte) (value any, err error) {
	if version == t.spec.Version {
		return t.parse(&engine.Record{Version: version, Payload: payload})
	}
	value, _, err = t.older(version, payload)
	return value, err
}

// misfit is the error for a payload that does not decode.
func (t *EventType[T]) misfit(value any, version int, err error) error {
	of := ""
	if version != t.spec.Version {
		of = fmt.Sprintf(" of version %d", version)
	}
	return &dispatch.DecodeError{Err: fmt.Errorf("the payload of this %s event%s does not fit %T: %w", t.spec.Name, of, value, err)}
}

// decodingPanicked is the error for a payload that panics while it is decoded or
// copied.
func (t *EventType[T]) decodingPanicked(step string, cause any) error {
	panicked := newPanicError(cause)
	err := fmt.Errorf("the payload of this %s event cannot be %s as %v: %w", t.spec.Name, step, reflect.TypeFor[T](), panicked)
	return &dispatch.DecodeError{Err: err, Stack: panicked.Stack}
}

func (t *EventType[T]) zero() any {
	var payload T
	return payload
}

func (t *EventType[T]) partitioned() bool { return t.spec.PartitionBy != nil }

// partitionKey returns the key within which the order is kept. The error is a
// *[dispatch.DecodeError] if PartitionBy panics.
func (t *EventType[T]) partitionKey(value any) (key string, err error) {
	typed, ok := value.(T)
	if !ok || t.spec.PartitionBy == nil {
		return "", nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			panicked := newPanicError(cause)
			err = fmt.Errorf("the partition key of this %s event cannot be computed: %w", t.spec.Name, panicked)
			err = &dispatch.DecodeError{Err: err, Stack: panicked.Stack}
		}
	}()
	return t.spec.PartitionBy(typed), nil
}

// AnyEventType is an [EventType] of any payload.
type AnyEventType interface {
	Name() string
	Doc() string
	Settings() Settings
	Priority() Priority
	Shape() string
	Schema() string
	Version() int
	Aliases() []string
	Subscriptions() []DeclaredSubscription

	decodeAs(version int, payload []byte) (any, error)
	decode(r *engine.Record) (any, error)
	zero() any // a payload
	partitioned() bool
	partitionKey(value any) (string, error)
}

// Catalogue is the set of event types a bus is opened with. It is immutable
// and safe for concurrent use.
type Catalogue struct {
	types    []AnyEventType
	named    map[string]AnyEventType // by name and by alias
	declared map[string]declared     // by name of the subscription
}

// declared is a declared subscription and the event type it is for.
type declared struct {
	DeclaredSubscription
	eventType string
}

// NewCatalogue returns the catalogue of the given types. It panics if two of
// them, or two of the subscriptions they declare, have the same name; an alias is
// a name too.
func NewCatalogue(types ...AnyEventType) *Catalogue {
	c := &Catalogue{types: slices.Clone(types), named: map[string]AnyEventType{}, declared: map[string]declared{}}
	for _, t := range types {
		for _, name := range append(t.Aliases(), t.Name()) {
			if c.named[name] != nil {
				panic(fmt.Sprintf("runtime.NewCatalogue: two event types are named %s", name))
			}
			c.named[name] = t
		}
		for _, s := range t.Subscriptions() {
			if other, taken := c.declared[s.Name]; taken {
				panic(fmt.Sprintf("runtime.NewCatalogue: %s and %s both declare a subscription %q", other.eventType, t.Name(), s.Name))
			}
			c.declared[s.Name] = declared{s, t.Name()}
		}
	}
	return c
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
	if err := check(t, version, payload); err != nil {
		return &InvalidPayloadError{EventType: eventType, Err: err}
	}
	return nil
}

func check(t AnyEventType, version int, payload []byte) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newPanicError(cause)
		}
	}()
	err = exact.Check(payload, func(payload []byte) (any, error) { return t.decodeAs(version, payload) })
	if err != nil {
		return err
	}
	_, err = t.decode(&engine.Record{Version: version, Payload: payload})
	return err
}
