// Package wire turns payloads into JSON and back without encoding/json. It is several times faster, and has the same
// result, but for times whose offset from UTC has seconds: these are written in UTC, where encoding/json writes another
// moment.
//
// Most programs do not call it: package runtime does.
//
// # Plans
//
// For each type of struct, a codec makes a plan when it is first used: which fields are where in memory, what their
// keys are, how their values are written. Reflection happens once, there. Nothing needs to be generated for a struct
// whose fields have the types of the catalogue language. Other types say themselves how they are written, as an
// [Encoder] and a [Decoder]: named scalars, and structs whose fields do not say everything, because stored
// events have former names or lack fields with defaults. Enums are Decoders only: the plan writes their text or number.
// The methods are in codec.gen.go.
//
// # Writing
//
// A [Writer] has a method for each scalar type of the catalogue language. [WriteList],
// [WriteMap] and [WriteText] write lists, maps and types with a text form. Each has a variant for
// a field of an object, with the key, whose name ends in Field. The bytes are those of
// json.Marshal, including the escapes and the order of the keys of maps.
//
// # Reading
//
// A [Reader] has the same methods for reading. It is fast because it reads only the
// form that a Writer writes: no blanks, the fields of an object in their order, each at
// most once, and null only where Go has nil. Fields may be missing, because events that
// were stored before the catalogue had a field do not have it.
//
// # Giving up
//
// The same value can be written as JSON in many other ways, and JSON can be damaged in
// many ways. When a Reader or Writer meets anything but the form above, it gives up, and
// Finish reports it. [Codec] then calls encoding/json for the whole value. So events
// that other programs have written are read too, but slower, and every error comes from
// encoding/json.
//
// If a Reader or Writer does not give up, its result must equal that of encoding/json.
// The tests of this package compare the two for every type of field, on values and on
// damaged JSON.
//
// # Older payloads
//
// Stored events may have a field under a former name, or lack a field with a default.
// ReadJSON handles both. For encoding/json, [Upgrade] renames and adds such fields.
//
// # Types that use encoding/json only
//
// A [Codec] uses only encoding/json for a type with an interface, an embedded struct, or a field without a tag
// inside. It does so too if a person has added methods that encoding/json calls, such as MarshalJSON, to the type or
// to a type inside of it: see [NewCodec].
package wire
