// Package wire turns generated payloads into JSON and back without reflection: several
// times faster than encoding/json, and with the same result.
//
// Most programs do not call it. It is for the methods WriteJSON and ReadJSON in
// codec.gen.go, and for the runtime package, which calls them.
//
// # Writing
//
// A [Writer] has a method for each type of field that the catalogue language
// has, and [WriteList], [WriteMap] and [WriteText] for what is made of others.
// It writes the bytes that json.Marshal writes, down to the escapes and the
// order of the keys of maps.
//
// # Reading
//
// A [Reader] has the same for the way back. It is quick because it reads only
// the one form in which a Writer writes: no blanks, the fields of an object in
// their order, each of them once, and null only for what can be nil. Fields may
// be missing, as they are in events that were stored before the catalogue had
// them.
//
// # Giving up
//
// JSON can say the same in many other ways, and be wrong in more. Neither side
// knows about those. At anything else than the above it gives up, and Finish
// reports it. [Codec] then lets encoding/json do all of it again. So an event
// that somebody else has written is read too, if not as fast, and every error
// is that of encoding/json.
//
// That leaves one promise to keep: a value that was written or read without
// giving up is the one of encoding/json. The tests of this package compare the
// two, for every type of field, on values and on damaged JSON of all kinds.
//
// # Older payloads
//
// Stored events may hold a field under a former name, or lack one that has a
// default. ReadJSON looks for both, and [Upgrade] brings such JSON up to date for
// encoding/json.
//
// # Types that do not take part
//
// A [Codec] of a type without the methods is encoding/json alone. So is one of a
// type to which somebody has added methods that encoding/json obeys, such as
// MarshalJSON, to the type itself or to one inside of it: see [NewCodec].
package wire
