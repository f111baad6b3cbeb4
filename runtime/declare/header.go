package declare

// Header gives a key of the metadata of events a type: an entry of `headers:` in a catalogue.
// The bus refuses to publish an event whose metadata does not keep to it, with a *runtime.HeaderError.
// The metadata stays a map of texts: the text of a value is what a payload would have in its
// JSON, without quotes.
type Header struct {
	Name string // the key
	// Type is one of string, bool, int, int32, int64, uint64, float64, time, date, duration,
	// uuid and decimal, which mean what they mean in a payload.
	Type string
	// Required says that events are only published with it. A string is not empty then.
	Required bool
	// Option is the name of the generated function that sets it, such as WithTenant, for errors;
	// empty for none.
	Option string
}
