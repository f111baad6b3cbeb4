package catalog

import "fmt"

// Position is a place in a catalogue file. Line and Column count from 1;
// Column counts runes, the way editors do.
type Position struct {
	File         string
	Line, Column int
}

// String formats the position as compilers do: file:line:col.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// A Value is a decoded value that remembers where it was written. A value
// that nobody wrote (a built-in default) has a zero Pos.
type Value[T any] struct {
	V   T
	Pos Position
}

// Written reports whether somebody wrote the value.
func (v Value[T]) Written() bool { return v.Pos != Position{} }

// Catalogue is a checked events.yaml: every name is resolved, every policy is
// inherited, and nothing in it can fail to compile once it is emitted.
type Catalogue struct {
	File       string        // as given to Load
	Version    Value[int]    // of the catalogue language; 1
	Package    Value[string] // Go package name of the generated code
	Types      []*Type       // in file order
	Events     []*Event      // in file order
	Namespaces []*Namespace  // sorted by name
	// ErrorClasses are the classes for which some `errors:` has a rule, in the
	// order in which the file names them first.
	ErrorClasses []*ErrorClass
}

// Type is an entry of `types:`: a struct or a string enum.
type Type struct {
	Name   Value[string] // as written; it is the Go name too
	Doc    string
	Fields []*Field     // of a struct, in file order; nil for an enum
	Values []*EnumValue // of an enum, in file order; nil for a struct
}

// IsEnum tells a string enum from a struct.
func (t *Type) IsEnum() bool { return t.Values != nil }

// EnumValue is one value of an enum.
type EnumValue struct {
	Name   Value[string] // the wire form
	GoName string        // of the constant, including the type: CurrencyEUR
}

// Field is a field of a payload or of a struct type.
type Field struct {
	Name   Value[string] // as written, and the JSON key
	GoName string
	Doc    string
	Type   *TypeRef
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
	JSON
	List  // []Elem
	Map   // map[string]Elem
	Named // Type
)

// TypeRef is a field's type. `T?` marks a field as optional: it is allowed
// only at the end, so it is always the whole field that may be absent, never
// a list's element.
type TypeRef struct {
	Kind     Kind
	Elem     *TypeRef // of a List or Map
	Named    *Type    // of a Named
	Optional bool
	Text     string // as written
	Pos      Position
}

// Event is an entry of `events:`, with its settings inherited.
type Event struct {
	Name   Value[string] // order.placed; the wire name
	GoName string        // OrderPlaced
	Doc    string
	Fields []*Field // the payload, in file order

	Settings Settings
	// Subscriptions are the durable names that exist from the moment a bus is
	// opened, in file order.
	Subscriptions []*Subscription
	// PartitionBy names the payload field whose value orders deliveries;
	// nil without one. It is a required field of a scalar kind.
	PartitionBy *Field
}

// Subscription is an entry of an event's `subscriptions:`. Its name is the only
// one of its kind in the catalogue.
type Subscription struct {
	Name   Value[string] // send-receipt; the durable name
	GoName string        // of the constant, including the event: OnOrderPlacedSendReceipt
	Doc    string

	Settings Settings // those of the event, where it has none of its own
}

// Namespace is a proper prefix of event names: order.placed and order.paid
// are in order, ml.run.started is in ml and in ml.run.
type Namespace struct {
	Name   string // ml.run; the pattern is ml.run.*
	GoName string // MLRun
	Events []*Event
}

// ErrorClass is a kind of error that the catalogue has rules for. The program
// says which errors belong to it.
type ErrorClass struct {
	Name   Value[string] // card_declined
	GoName string        // of the constant: ErrorCardDeclined
}
