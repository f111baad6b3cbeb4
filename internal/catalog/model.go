package catalog

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/plainjson"
	"github.com/busgen/busgen/internal/schedule"
)

// A Value is a decoded value that remembers where it was written. A built-in default, which no file has, has a zero Pos.
type Value[T any] struct {
	V   T
	Pos diag.Position
}

// Written reports whether a file has the value.
func (v Value[T]) Written() bool { return v.Pos.IsKnown() }

// A cell is a *Value of any type. parts returns a pointer to what it holds, and its position.
type cell interface{ parts() (any, diag.Position) }

func (v *Value[T]) parts() (any, diag.Position) { return &v.V, v.Pos }

// Catalogue is a checked events.yaml: every name is resolved, every policy is
// inherited, and nothing in it can fail to compile once it is emitted.
type Catalogue struct {
	File       string        // as given to Load: the root
	Files      []string      // the root, and what it includes
	Version    Value[int]    // of the catalogue language; 1
	Package    Value[string] // Go package name of the generated code
	ImportPath Value[string] // Go import path of the generated code; not written if go.mod is to say it
	TestKit    bool          // a package for tests is generated, too
	Types      []*Type       // those of `types:` in the order of Files, then those in place
	Events     []*Event      // in the order of Files
	// Subscriptions are those of `subscriptions:` at the top level, in the order of Files.
	Subscriptions []*PatternSubscription
	Groups        []*Group     // of subscriptions, in the order of their first members
	Schedules     []*Schedule  // in the order of Files
	Limits        []*Limit     // in the order of Files
	Namespaces    []*Namespace // sorted by name
	Packages      []*Package   // those below that of the root, in the order of Files
	Imports       []*Package   // the catalogues whose types it can use, in file order
	Imported      []*Type      // the types of other catalogues that its own are made of, sorted by name
	GoTypes       []*GoType    // of built-in types that have others than the usual ones, in file order
	// ErrorClasses are the classes for which some `errors:` has a rule, in the
	// order in which the file names them first.
	ErrorClasses []*ErrorClass
	// CloudEvents says what the events are called outside; nil if nothing does.
	CloudEvents *CloudEvents
	Headers     []*Header      // of every event, in the order of Files
	Defaults    Settings       // of every event, where no policy and no event sets others
	Policies    []*Policy      // in the order of Files
	Lint        []*LintSetting // what it says of the rules of busgen lint
	Accepted    []*Accepted    // findings of busgen breaking that it takes as they are, in file order
	// Removed are versions of events that are gone, with their events or without: each event has them as its
	// History. Only catalogues that are made of a record have them, as with [Field.Removed].
	Removed []*Event

	// As one of several packages sees it; see In.
	Part *Package // the package below that of the root; nil in that
	All  []*Event // those of all packages
}

// Policy has settings of the events that match a pattern. A more specific one goes before a less specific one.
type Policy struct {
	Pattern  glob.Pattern // over what the catalogue calls events
	Settings Settings     // as written here, not inherited
	Headers  []*Header    // as written here
}

// Package is a Go package that is generated from another catalogue, or one below that of
// the root.
type Package struct {
	Name Value[string] // what it is called here: shared
	Path string        // by which Go imports it; empty if go.mod is to say it, or Above does
	File string        // the other catalogue; empty if it is the same

	Above  *Package // of one below that of another catalogue's root
	Folder string   // below that
}

// ImportPath returns the path by which Go imports the package.
func (p *Package) ImportPath() string {
	if p.Above != nil {
		return p.Above.ImportPath() + "/" + p.Folder
	}
	return p.Path
}

// Type is an entry of `types:`, or a struct that is written in place. It is one
// of a struct, an enum, a union, a custom Go type and a named scalar.
type Type struct {
	Name       Value[string] // as written; of a struct in place, its Go name at the place of the field or variant
	GoName     string
	Schema     Value[string] // what documents that are exported call it; Name if not written
	Home       *Package      // where its code goes; nil in the root's package
	Package    *Package      // of a type of another catalogue, whose Name is then shared.Money; and see Catalogue.In
	Doc        string
	Deprecated Value[string] // the reason; not written if it is in use
	Inline     bool          // a struct in place: the type of one field, of one variant or of one old payload

	Fields          []*Field        // of a struct: those of its mixins, and then its own in file order
	Mixins          []*Mixin        // of a struct, in file order
	Reserved        []Value[string] // of a struct: names in JSON that no field may have; also those of its mixins
	Values          []*EnumValue    // of an enum, in file order
	RemovedValues   []*EnumValue    // of an enum of integers: numbers that no value has any more; see [Field.Removed]
	Integer         bool            // of an enum: its JSON is a number
	Variants        []*Variant      // of a union, in file order
	RemovedVariants []*Variant      // of a union: those that are gone; see [Field.Removed]
	Discriminator   Value[string]   // of a union: the key that tells its variants apart; "type" if it is not written
	Custom          *Custom         // of a custom Go type
	Scalar          *TypeRef        // of a named scalar: the built-in type that it stands for
	Constraints     Constraints     // of a named scalar

	// Recursive says that a value can contain another of the same type.
	Recursive bool
	// Reflected says that nothing but encoding/json can write and read a value: it has a union or a custom Go type
	// inside.
	Reflected bool
}

// IsEnum tells an enum from the others.
func (t *Type) IsEnum() bool { return t.Values != nil }

// IsUnion tells a union from the others.
func (t *Type) IsUnion() bool { return t.Variants != nil }

// IsCustom tells a custom Go type from the others.
func (t *Type) IsCustom() bool { return t.Custom != nil }

// IsStruct tells a struct from the others.
func (t *Type) IsStruct() bool { return !t.IsEnum() && !t.IsUnion() && !t.IsCustom() && !t.IsScalar() }

// EnumValue is one value of an enum.
type EnumValue struct {
	Name       Value[string] // its text, which is the wire form unless the enum is one of integers
	GoName     string        // of the constant, including the type: CurrencyEUR
	Doc        string
	Deprecated Value[string]
	Number     int // of an enum of integers: the wire form
}

// Variant is one of the structs that a union can be.
type Variant struct {
	Name Value[string] // the value of the discriminator
	Type *Type         // a struct, which has no field of the discriminator's name
}

// Custom is a Go type that the user supplies, with its JSON form.
type Custom struct {
	Import Value[string] // the path of its package
	Name   Value[string] // in that package
	JSON   *TypeRef      // what its JSON looks like: a built-in type, a list or a map
}

// Field is a field of a payload or of a struct type.
type Field struct {
	// Name is the key in JSON. It is where the field is.
	Name Value[string]
	// Local is what the catalogue calls the field: order_id. See [Field.Label].
	Local Value[string]
	// OwnJSON says that the JSON name is written beside the type. Otherwise JSONNames made it of Local.
	OwnJSON   Value[string]
	JSONNames JSONNames

	// Mixin brings the field to the payload or struct; nil for one of its own. If that mixin has mixins itself,
	// the field may be one of theirs.
	Mixin *Mixin

	GoName      string
	Doc         string
	Deprecated  Value[string]
	Type        *TypeRef
	Constraints Constraints
	// Was are the names in JSON that it had before. A stored event that has none of its name is read by the
	// first of them that it has. Nothing is written under them.
	Was []Value[string]
	// Removed says that the field was there once, and is not any more. Catalogues that are made of a
	// record have such fields; those that are read from a file have none.
	Removed bool
	// Sensitive says that tools, logs and errors do not show the value, whatever its type contains.
	Sensitive Value[bool]
	// Personal says that the value is about a person: erasing a person looks for it there, and takes it away.
	Personal Value[bool]
	// Default stands in for a field that is absent, in its JSON form. An optional or nullable field has no value all
	// the same, and has a method that returns the default: see [Field.HasDefaultMethod]. A required field of
	// a stored event that lacks it, or has null there, is decoded as the default.
	Default Value[json.RawMessage]
}

// HasDefaultMethod reports whether generated code has a method that returns the default in place
// of nil: see [DefaultName].
func (f *Field) HasDefaultMethod() bool { return f.Default.Written() && f.Type.MayBeNil() }

// Constraints narrow down the values of a field. A constraint that is not written does not apply. An optional
// field may be absent in spite of them, and a nullable field may be null.
type Constraints struct {
	Min, Max             Value[Bound]   // of a number, a decimal or a duration
	MinLength, MaxLength Value[int]     // characters of a string, bytes of bytes
	Pattern              Value[Pattern] // some part of a string matches it
	Format               Value[string]  // of a string; package format lists them
	MinItems, MaxItems   Value[int]     // of a list or map
	Unique               Value[bool]    // no two items of a list are the same
	// Each are the constraints of the items of a list, or of the values of a map; nil for none.
	Each *Constraints
}

// OfEach returns the constraints of the items of a list, or of the values of a map.
func (c Constraints) OfEach() Constraints {
	if c.Each == nil {
		return Constraints{}
	}
	return *c.Each
}

// EachWord returns the key under which constraints of what is in a list or a map are written.
func EachWord(kind Kind) string {
	if kind == Map {
		return "values"
	}
	return "items"
}

// Kind is the outermost shape of a field's type.
type Kind int

// The kinds, in the order in which the reference lists them.
const (
	String Kind = iota + 1
	Bool
	Int
	Int32
	Int64
	Uint64
	Float64
	Bytes
	Time
	Date
	Duration
	UUID
	Decimal
	JSON
	List  // []Elem
	Map   // map[string]Elem
	Named // Type
)

// TypeRef is a field's type. `T?` marks a field as optional, and `T|null` as nullable. Marks are allowed only at the
// end, so it is always the whole field that has no value, never a list's element.
type TypeRef struct {
	Kind     Kind
	Elem     *TypeRef // of a List or Map
	Named    *Type    // of a Named
	Scalar   *Type    // the named scalar, whose built-in type Kind is; nil for that type itself
	Go       *GoType  // the Go type of the built-in type, or of the one below a named scalar; nil for the usual one
	Optional bool     // the field may be absent
	Nullable bool     // the field is always there, and may be null; never with Optional
	Text     string   // as written
	Pos      diag.Position
}

// Event is an entry of `events:`, with its settings inherited.
type Event struct {
	// Name is the name on the wire: the type under which events are stored. It is where the event is.
	Name Value[string]
	// Local is what the catalogue calls the event: order.placed. See [Event.Label].
	Local Value[string]
	// OwnWire says that the name on the wire is written. Otherwise it is Local.
	OwnWire Value[string]
	// Schema is what documents that are exported call the schema of its payload. It has no name if not written.
	Schema Value[string]

	GoName   string // OrderPlaced
	Doc      string
	Fields   []*Field        // the payload: the fields of its mixins, and then its own in file order
	Mixins   []*Mixin        // of the payload, in file order
	Reserved []Value[string] // names that no field of the payload may have; also those of its mixins

	// Result is what handlers answer to a request with the event; nil if the event is no request. Nothing of it is
	// stored, so it is part of no record.
	Result *Result

	Home    *Package // where its code goes; nil in the root's package
	Package *Package // see Catalogue.In
	// CloudEvents is that of the catalogue: what the event is called outside; nil if nothing says it.
	CloudEvents *CloudEvents
	// Version numbers what the payload means to its readers; 1 unless one is written.
	Version Value[int]
	History []*OldShape     // the versions before that can still be read, without gaps up to the present one
	Aliases []Value[string] // the names it had before

	Deprecated Value[string]   // the reason; not written if it is in use
	Owner      Value[string]   // who answers for it
	Tags       []Value[string] // in file order, none of them twice
	Examples   []*Example      // in file order
	MadeUp     json.RawMessage // a payload, if there are no examples

	Settings Settings  // those in force
	Own      Settings  // those that the event sets itself
	Headers  []*Header // those in force: one of each name
	// RemovedHeaders are those that it had, which only a record knows.
	RemovedHeaders []*Header
	// Subscriptions are the durable names that exist from the moment a bus is
	// opened, in file order.
	Subscriptions []*Subscription
	Patterns      []*PatternSubscription // those at the top level that are for it
	Schedules     []*Schedule            // that publish it, in the order of the files
	// PartitionBy names the payload field whose value orders deliveries;
	// nil without one. It is a required field of a scalar kind.
	PartitionBy *Field
	// DedupeBy names the payload field whose value is the dedupe key of what is published;
	// nil without one. It is a required field of a scalar kind.
	DedupeBy *Field
	// AwaitBy names the payload field whose value is the key by which handlers wait for the event;
	// nil without one. It is a required field of a scalar kind, and not sensitive.
	AwaitBy   *Field
	LimitKeys []*LimitKey // by which limits of it or of its subscriptions count, each once
}

// Result is the type of the answers to an event.
type Result struct {
	Type *TypeRef
	Doc  string
	Pos  diag.Position // of the key
}

// Values returns the fields of the payload, and the result as one more field: everything of e that has
// a Go type.
func (e *Event) Values() []*Field {
	if e.Result == nil {
		return e.Fields
	}
	name := Value[string]{V: "result", Pos: e.Result.Pos}
	return append(slices.Clip(e.Fields), &Field{Name: name, Type: e.Result.Type})
}

// OldShape is a payload of an old version of an event.
type OldShape struct {
	Version Value[int]
	Doc     string
	Type    *Type // a struct in place; OrderPlacedV1
}

// Example is a valid payload that an event shows.
type Example struct {
	JSON json.RawMessage // as it travels, without blanks
	Pos  diag.Position
}

// Subscription is an entry of an event's `subscriptions:`, or a part of a [PatternSubscription]. Its name is unique in
// the catalogue.
type Subscription struct {
	Name    Value[string] // send-receipt; the durable name
	GoName  string        // of the constant, including the event: OnOrderPlacedSendReceipt
	Doc     string
	Aliases []Value[string] // the durable names it had before
	Group   *Group          // whose member it is; nil for one by itself

	Settings Settings // those in force: of the event, where it has none of its own
	Own      Settings // those that it sets itself
}

// Schedule is an entry of `schedules:`: when the bus itself publishes an event. It belongs to the package of
// the event.
type Schedule struct {
	Name    Value[string] // nightly-report; the durable name
	Doc     string
	Event   *Event
	Cron    Value[string] // an expression; not written with Every
	Every   Value[time.Duration]
	Zone    Value[string]   // of Cron; not written for UTC
	Missed  Value[string]   // once, skip or all
	Payload json.RawMessage // as it travels, with the defaults of required fields
}

// Rule returns when the schedule is due.
func (s *Schedule) Rule() schedule.Rule {
	return schedule.Rule{Cron: s.Cron.V, Every: s.Every.V, Zone: s.Zone.V, Missed: s.Missed.V}
}

// When says in a few words when the schedule is due: 0 3 * * * (Europe/Berlin), or every 15m.
func (s *Schedule) When() string {
	switch {
	case s.Cron.V == "":
		return "every " + Short(s.Every.V)
	case s.Zone.V == "":
		return s.Cron.V + " (UTC)"
	}
	return s.Cron.V + " (" + s.Zone.V + ")"
}

// Namespace is a proper prefix of event names: order.placed and order.paid
// are in order, ml.run.started is in ml and in ml.run.
type Namespace struct {
	Name   string // ml.run; the pattern is ml.run.*
	GoName string // MLRun
	Events []*Event
	Spread bool // its events are in several packages; see Catalogue.In
}

// Shared reports whether the namespace has several events. Only such a one has an interface and a subscription
// function: for a single event they would say what those of the event say.
func (ns *Namespace) Shared() bool { return len(ns.Events) > 1 }

// ErrorClass is a class of errors with rules in the catalogue. The program says which errors belong to it.
type ErrorClass struct {
	Name   Value[string] // card_declined
	GoName string        // of the constant: ErrorCardDeclined
}

// LintSetting is an entry of `lint:`, the setting of one rule of busgen lint.
type LintSetting struct {
	Rule     Value[string]
	Severity Value[diag.Severity] // not written if it stays what it is
	Except   []glob.Pattern
}

// Accepted is an entry of `accepted:`, a finding of busgen breaking that the catalogue accepts.
type Accepted struct {
	Key    Value[string] // as the finding prints it: field-added order.placed 1 email
	Reason Value[string]
}

// JSON returns the wire form of a value of the enum t.
func (v *EnumValue) JSON(t *Type) json.RawMessage {
	if t.Integer {
		return json.RawMessage(strconv.Itoa(v.Number))
	}
	return plainjson.Quote(v.Name.V)
}

// Sample returns the JSON of a payload of e: the first of its examples, or one
// that is made up. It is valid, and the same every time.
func (e *Event) Sample() json.RawMessage {
	if len(e.Examples) > 0 {
		return e.Examples[0].JSON
	}
	return e.MadeUp
}
