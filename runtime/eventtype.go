package runtime

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/gen/deep"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// EventType describes one event type. Generated code holds one for each event
// of the catalogue. It is immutable and safe for concurrent use.
//
// [EventType.Any] returns all that is known about the type: the compiler would describe each further method here
// again for each type of payload.
type EventType[T Payload] struct{ typeRef }

// typeRef has what an [EventType] has. Its methods are compiled once, and those of a generic type for each type of payload.
type typeRef struct{ of AnyEventType }

// eventType is an [EventType] without its type parameter. The compiler makes the code of a
// generic type again for each type of payload, in each build of the generated package, so what
// can be done without knowing the type is done here. For the same reason closures hold handlers
// in interfaces: the compiler would describe the type of a closure with a Handler[T], and so
// that of its event, once more. A payload here is a pointer to a T in an interface, unless it is
// called a value.
type eventType struct {
	spec      Spec[Payload] // without the functions, which are these:
	partition func(payload any) string
	dedupe    func(payload any) string
	limitBy   map[string]func(payload any) string

	described bool // by generated code

	of       reflect.Type // T
	pointer  reflect.Type // *T
	assigner deep.Assigner
	codec    *wire.TypeCodec
	clone    func(to, from any) // makes a deep copy; nil if only code of a person can: a payload is decoded for each handler
	privacy  func() *privacy.Shape
	free     sync.Pool // of payloads, which are zero
}

// Define returns the event type that spec describes. It panics if spec could
// not have come from busgen: a name or a policy that is not valid.
func Define[T Payload](spec Spec[T]) *EventType[T] {
	t := &eventType{spec: Spec[Payload]{
		Name: spec.Name, Doc: spec.Doc, Settings: spec.Settings, Priority: spec.Priority, Version: spec.Version, Upcasts: spec.Upcasts,
		Aliases: spec.Aliases, Shape: spec.Shape, Schema: spec.Schema, Subscriptions: spec.Subscriptions, Schedules: spec.Schedules, Headers: slices.Clone(spec.Headers),
		AwaitBy: slices.Clone(spec.AwaitBy),
	}}
	t.partition, t.dedupe = keyed(spec.PartitionBy), keyed(spec.DedupeBy)
	for path, key := range spec.LimitKeys {
		t.limit(path, keyed(key))
	}
	t.define((*T)(nil))
	return &EventType[T]{typeRef{t}}
}

// keyed returns a function of a pointer to a T, or nil for nil.
//
//go:noinline
func keyed[T any](key func(T) string) func(any) string {
	if key == nil {
		return nil
	}
	return func(payload any) string { return key(*payload.(*T)) }
}

func (t *eventType) limit(path string, key func(any) string) {
	if t.limitBy == nil {
		t.limitBy = map[string]func(any) string{}
	}
	t.limitBy[path] = key
}

// define completes and checks what Define was given.
func (t *eventType) define(pointer any) {
	of := pointedTo(pointer)
	t.of, t.pointer, t.assigner = of, reflect.PointerTo(of), deep.AssignerOf(of)
	t.spec.Version = max(t.spec.Version, 1)
	if err := glob.ValidWire(t.spec.Name); err != nil {
		panic(fmt.Sprintf("runtime.Define: %v", err))
	}
	if err := t.spec.Settings.Validate(); err != nil {
		panic(fmt.Sprintf("runtime.Define(%s): %v", t.spec.Name, err))
	}
	if problem := chainProblem(t.spec.Upcasts, t.spec.Version, t.of); problem != "" {
		panic(fmt.Sprintf("runtime.Define(%s): %s", t.spec.Name, problem))
	}
	for _, alias := range t.spec.Aliases {
		if err := glob.ValidWire(alias); err != nil {
			panic(fmt.Sprintf("runtime.Define(%s): alias %q: %v", t.spec.Name, alias, err))
		}
	}
	for _, s := range t.spec.Subscriptions {
		if problem := nameProblem(s.Name); problem != "" {
			panic(fmt.Sprintf("runtime.Define(%s): subscription %q: %s", t.spec.Name, s.Name, problem))
		}
		for _, group := range append(slices.Clone(s.GroupAliases), s.Group) {
			if problem := nameProblem(group); problem != "" && s.Group+group != "" {
				panic(fmt.Sprintf("runtime.Define(%s): group %q of subscription %q: %s", t.spec.Name, group, s.Name, problem))
			}
		}
		if err := s.Settings.Validate(); err != nil {
			panic(fmt.Sprintf("runtime.Define(%s): subscription %q: %v", t.spec.Name, s.Name, err))
		}
	}
	for _, s := range t.spec.Schedules {
		if problem := scheduleProblem(s); problem != "" {
			panic(fmt.Sprintf("runtime.Define(%s): schedule %q: %s", t.spec.Name, s.Name, problem))
		}
	}
	if slices.Contains(t.spec.AwaitBy, "") {
		panic(fmt.Sprintf("runtime.Define(%s): AwaitBy has a name that is empty: give the names of one field in JSON", t.spec.Name))
	}
	named := map[string]bool{}
	for _, h := range t.spec.Headers {
		if problem := headerProblem(h); problem != "" || named[h.Name] {
			panic(fmt.Sprintf("runtime.Define(%s): header %q: %s", t.spec.Name, h.Name, cmp.Or(problem, "it is there twice")))
		}
		named[h.Name] = true
	}
	for path, key := range t.limitBy {
		if path == "" || key == nil {
			panic(fmt.Sprintf("runtime.Define(%s): the limit key %q: a path and a function are needed", t.spec.Name, path))
		}
	}
	t.privacy = sync.OnceValue(func() *privacy.Shape { return privacy.Read(t.spec.Schema) })
	t.codec = wire.NewTypeCodec(of)
	if t.described {
		t.codec = wire.GeneratedTypeCodec(of)
	}
	if copier := deep.CopierOf(of); copier != nil && t.codec.Generated() {
		t.clone = copier.Into
	}
}

// Any returns the type as one of any payload.
func (t *typeRef) Any() AnyEventType { return t.of }

// Any returns the type itself.
func (t *eventType) Any() AnyEventType { return t }

func (t *eventType) definition() any { return t }

// Name returns the wire name, such as order.placed.
func (t *typeRef) Name() string { return t.of.Name() }

// Name returns the wire name, such as order.placed.
func (t *eventType) Name() string { return t.spec.Name }

// Doc returns the catalogue's documentation.
func (t *eventType) Doc() string { return t.spec.Doc }

// Settings returns the settings of the catalogue.
func (t *eventType) Settings() declare.Settings { return t.spec.Settings }

// Shape returns the digest of the payload, empty for code that has none.
func (t *eventType) Shape() string { return t.spec.Shape }

// Schema returns the description of the payload that is stored in the file, empty
// for code that has none.
func (t *eventType) Schema() string { return t.spec.Schema }

// Priority returns the priority of the catalogue.
func (t *eventType) Priority() Priority { return t.spec.Priority }

// Version returns the version of the payloads that are published, from 1 on.
func (t *eventType) Version() int { return t.spec.Version }

// Aliases returns the names that the type had before.
func (t *eventType) Aliases() []string { return slices.Clone(t.spec.Aliases) }

// Subscriptions returns the names that the catalogue declares for this type.
func (t *eventType) Subscriptions() []declare.Subscription {
	return slices.Clone(t.spec.Subscriptions)
}

// Schedules returns the schedules that publish events of this type.
func (t *eventType) Schedules() []declare.Schedule { return slices.Clone(t.spec.Schedules) }

// Headers returns the keys of the metadata that have types.
func (t *eventType) Headers() []declare.Header { return slices.Clone(t.spec.Headers) }

// Upcast turns payloads of one version into those of the next. [UpcastFrom] makes
// one.
type Upcast struct {
	version  int
	from, to any // nil pointers to the types
	decode   func(payload []byte) (any, error)
	lift     func(old any) (any, error)
}

// UpcastFrom returns the step by which stored payloads of an old version become
// those of the next: upcast gets the payload as it was, and returns what it would
// be today. It is called by any goroutine, and should depend on nothing but old. An
// error, or a panic, makes a dead letter of the event, with the bytes as they are
// stored. Generated code calls it with functions that the user has written.
func UpcastFrom[From, To any](version int, upcast func(old From) (To, error)) Upcast {
	return Upcast{
		version: version, from: (*From)(nil), to: (*To)(nil), decode: decoder((*From)(nil)),
		lift: func(old any) (any, error) { return upcast(old.(From)) },
	}
}

// decoder returns a function that decodes values of the type that pointer points to.
func decoder(pointer any) func(payload []byte) (any, error) {
	of := pointedTo(pointer)
	codec := wire.NewTypeCodec(of)
	return func(payload []byte) (any, error) {
		old := reflect.New(of)
		err := codec.Decode(payload, old.Interface())
		return old.Elem().Interface(), err
	}
}

// chainProblem says in words why the steps do not lead to a version of a type.
func chainProblem(steps []Upcast, version int, newest reflect.Type) string {
	for i, step := range steps {
		next := newest
		if i+1 < len(steps) {
			next = pointedTo(steps[i+1].from)
		}
		if want := version - len(steps) + i; step.version != want || want < 1 {
			return fmt.Sprintf("step %d is from version %d; the steps lead to version %d one by one", i+1, step.version, version)
		}
		if to := pointedTo(step.to); to != next {
			return fmt.Sprintf("the step from version %d returns %v, and the next takes %v", step.version, to, next)
		}
	}
	return ""
}

// older decodes a payload of another version than that of t, and returns its value and with it
// the steps that lead from there to t.
func (t *eventType) older(version int, payload []byte) (value any, steps []Upcast, err error) {
	steps = t.spec.Upcasts
	if len(steps) == 0 || version < steps[0].version || version > t.spec.Version {
		return nil, nil, t.unknownVersion(version)
	}
	steps = steps[version-steps[0].version:]
	if value, err = steps[0].decode(payload); err != nil {
		return nil, nil, t.misfit(pointedTo(steps[0].from), version, payload, err)
	}
	return value, steps, nil
}

// lift decodes a payload of an old version into one of the present version.
func (t *eventType) lift(version int, stored []byte, payload any) error {
	value, steps, err := t.older(version, stored)
	for _, step := range steps {
		if value, err = step.apply(value); err != nil {
			err = fmt.Errorf("this %s event of version %d cannot be made one of version %d: %w", t.spec.Name, version, step.version+1, err)
			return &errs.DecodeError{Err: err}
		}
	}
	if err != nil {
		return err
	}
	reflect.ValueOf(payload).Elem().Set(reflect.ValueOf(value))
	return nil
}

func (u Upcast) apply(old any) (value any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the upcast has panicked: %w", newPanicError(panicked))
		}
	}()
	return u.lift(old)
}

// unknownVersion is the error for a version that the program has no shape for.
func (t *eventType) unknownVersion(version int) error {
	if version > t.spec.Version {
		return &errs.DecodeError{Err: fmt.Errorf("this %s event was published as version %d, and this program knows versions up to %d: "+
			"deploy the program that has published it, and then retry the dead letter", t.spec.Name, version, t.spec.Version)}
	}
	return &errs.DecodeError{Err: fmt.Errorf("this %s event was published as version %d, which this program no longer reads: "+
		"the catalogue has dropped it from the history of the event", t.spec.Name, version)}
}

func (t *eventType) private() *privacy.Shape { return t.privacy() }

// shown returns a text about a delivery without the values of its payload that the
// catalogue calls sensitive. Logs show errors in this form. Stored attempts have them as
// they are, and package inspect hides the values.
func (b *innerBus) shown(d *engine.Delivery, text string) string {
	of, hide := privacy.Carried(d.Type, d.Payload)
	t := b.catalogue.named[of]
	if t == nil || !typeOf(t).private().Sensitive() {
		return text
	}
	_, veil := hide(typeOf(t).private(), max(d.Version, 1), d.Payload)
	return veil.Text(text)
}

// hiddenError returns an error about a payload whose text has no sensitive values.
func hiddenError(shape *privacy.Shape, version int, payload []byte, err error) error {
	if !shape.Sensitive() {
		return err
	}
	_, veil := shape.Hide(version, payload)
	text := err.Error()
	if clean := veil.Text(text); clean != text {
		return &quietError{text: clean, err: err}
	}
	return err
}

// quietError is an error with another text.
type quietError struct {
	text string
	err  error
}

// Error returns the text.
func (e *quietError) Error() string { return e.text }

// Unwrap returns the error.
func (e *quietError) Unwrap() error { return e.err }

// fits returns what tells whether payloads that programs with another schema have stored are those of t.
func fits(t AnyEventType) func(stored event.Schema) error {
	own := t.definition().(*eventType).private
	return func(stored event.Schema) error {
		d := own().Compare(privacy.Read(stored.Text), stored.Version)
		if !d.Clash() {
			return nil
		}
		return &event.SchemaError{
			Event: t.Name(), Version: stored.Version, Problem: "it lacks " + strings.Join(d.Lacks, ", ") + ", and has " + strings.Join(d.Extra, ", ") + " instead",
			Program: stored.Program, StoredAt: stored.StoredAt,
		}
	}
}
