package runtime

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

// EventType describes one event type. Generated code holds one for each event
// of the catalogue. It is immutable and safe for concurrent use.
type EventType[T Payload] struct {
	spec    Spec[T]
	codec   *wire.Codec[T]
	privacy func() *privacy.Shape // what is sensitive; nil without a schema
	clones  bool                  // generated code copies a payload; else it is decoded for each handler
}

// generated is implemented by generated payloads.
type generated[T any] interface {
	wire.Encoder
	Clone() T
}

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
		for _, group := range append(slices.Clone(s.GroupAliases), s.Group) {
			if problem := nameProblem(group); problem != "" && s.Group+group != "" {
				panic(fmt.Sprintf("runtime.Define(%s): group %q of subscription %q: %s", spec.Name, group, s.Name, problem))
			}
		}
		if err := s.Settings.Validate(); err != nil {
			panic(fmt.Sprintf("runtime.Define(%s): subscription %q: %v", spec.Name, s.Name, err))
		}
	}
	for _, s := range spec.Schedules {
		if problem := s.problem(); problem != "" {
			panic(fmt.Sprintf("runtime.Define(%s): schedule %q: %s", spec.Name, s.Name, problem))
		}
	}
	for path, key := range spec.LimitKeys {
		if path == "" || key == nil {
			panic(fmt.Sprintf("runtime.Define(%s): the limit key %q: a path and a function are needed", spec.Name, path))
		}
	}
	_, clones := any(new(T)).(generated[T])
	privacyOf := sync.OnceValue(func() *privacy.Shape { return privacy.Read(spec.Schema) })
	return &EventType[T]{spec: spec, privacy: privacyOf, codec: wire.NewCodec[T](), clones: clones}
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

// Schedules returns the schedules that publish events of this type.
func (t *EventType[T]) Schedules() []Schedule { return slices.Clone(t.spec.Schedules) }

func (t *EventType[T]) decode(r *engine.Record) (any, error) { return t.decodeTyped(r) }

// decodeTyped returns the payload for one handler. An event that several subscriptions
// handle is decoded once, and each handler gets its own copy.
func (t *EventType[T]) decodeTyped(r *engine.Record) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = t.decodingPanicked("copied", cause)
		}
	}()
	if r.Memo == nil || !t.clones {
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
	return any(original).(generated[T]).Clone(), nil
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
		return value, t.misfit(value, t.spec.Version, r.Payload, err)
	}
	return value, nil
}

// decodeAs decodes a payload as the version it was published with.
func (t *EventType[T]) decodeAs(version int, payload []byte) (value any, err error) {
	if version == t.spec.Version {
		return t.parse(&engine.Record{Version: version, Payload: payload})
	}
	value, _, err = t.older(version, payload)
	return value, err
}

// misfit is the error for a payload that does not decode.
func (t *EventType[T]) misfit(value any, version int, payload []byte, err error) error {
	err = hiddenError(t.privacy(), version, payload, err)
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

// limitPaths returns the paths of the fields by which limits can be kept apart, sorted.
func (t *EventType[T]) limitPaths() []string { return slices.Sorted(maps.Keys(t.spec.LimitKeys)) }

// limitKey returns the value of the field at a path. It runs code of the payload, which may
// do anything.
func (t *EventType[T]) limitKey(value any, path string) string {
	typed, ok := value.(T)
	key := t.spec.LimitKeys[path]
	if !ok || key == nil {
		return ""
	}
	return key(typed)
}

// Upcast turns payloads of one version into those of the next. [UpcastFrom] makes
// one.
type Upcast struct {
	version  int
	from, to reflect.Type
	decode   func(payload []byte) (any, error)
	lift     func(old any) (any, error)
}

// UpcastFrom returns the step by which stored payloads of an old version become
// those of the next: upcast gets the payload as it was, and returns what it would
// be today. It is called by any goroutine, and should depend on nothing but old. An
// error, or a panic, makes a dead letter of the event, with the bytes as they are
// stored. Generated code calls it with functions that the user has written.
func UpcastFrom[From, To any](version int, upcast func(old From) (To, error)) Upcast {
	codec := wire.NewCodec[From]()
	return Upcast{
		version: version, from: reflect.TypeFor[From](), to: reflect.TypeFor[To](),
		decode: func(payload []byte) (any, error) { return codec.Decode(payload) },
		lift:   func(old any) (any, error) { return upcast(old.(From)) },
	}
}

// chainProblem says in words why the steps do not lead to a version of a type.
func chainProblem(steps []Upcast, version int, newest reflect.Type) string {
	for i, step := range steps {
		next := newest
		if i+1 < len(steps) {
			next = steps[i+1].from
		}
		if want := version - len(steps) + i; step.version != want || want < 1 {
			return fmt.Sprintf("step %d is from version %d; the steps lead to version %d one by one", i+1, step.version, version)
		}
		if step.to != next {
			return fmt.Sprintf("the step from version %d returns %v, and the next takes %v", step.version, step.to, next)
		}
	}
	return ""
}

// older decodes a payload of another version than that of t, and returns with it
// the steps that lead from there to t.
func (t *EventType[T]) older(version int, payload []byte) (value any, steps []Upcast, err error) {
	steps = t.spec.Upcasts
	if len(steps) == 0 || version < steps[0].version || version > t.spec.Version {
		return nil, nil, t.unknownVersion(version)
	}
	steps = steps[version-steps[0].version:]
	if value, err = steps[0].decode(payload); err != nil {
		return nil, nil, t.misfit(value, version, payload, err)
	}
	return value, steps, nil
}

// lift decodes a payload of an old version, and makes one of the present version of it.
func (t *EventType[T]) lift(version int, payload []byte) (newest T, err error) {
	value, steps, err := t.older(version, payload)
	for _, step := range steps {
		if value, err = step.apply(value); err != nil {
			err = fmt.Errorf("this %s event of version %d cannot be made one of version %d: %w", t.spec.Name, version, step.version+1, err)
			return newest, &dispatch.DecodeError{Err: err}
		}
	}
	if err != nil {
		return newest, err
	}
	return value.(T), nil
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
func (t *EventType[T]) unknownVersion(version int) error {
	if version > t.spec.Version {
		return &dispatch.DecodeError{Err: fmt.Errorf("this %s event was published as version %d, and this program knows versions up to %d: "+
			"deploy the program that has published it, and then retry the dead letter", t.spec.Name, version, t.spec.Version)}
	}
	return &dispatch.DecodeError{Err: fmt.Errorf("this %s event was published as version %d, which this program no longer reads: "+
		"the catalogue has dropped it from the history of the event", t.spec.Name, version)}
}
