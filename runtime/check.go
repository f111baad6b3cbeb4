package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/busgen/busgen/internal/plainjson"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Check reports whether payload is the JSON of an event as a program of the given
// version would publish it: it is valid UTF-8, has no key twice, decodes, has every
// required field and no unknown one, and passes Validate. One of an old version must survive its upcasts too. Otherwise the error is an
// *[UnknownTypeError], or an *[InvalidPayloadError] that says what is wrong with
// which field.
//
// It is stricter than the bus, which reads events of other versions of the
// catalogue: what a person writes should be exactly right. The option WithEditing
// of package dlq takes it.
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
	var unclear Problems
	for _, p := range plainjson.Check(payload) {
		unclear.add(p.Path, p.Message)
	}
	if err := unclear.Err(); err != nil {
		return err
	}
	decode := func(payload []byte) (any, error) { return t.decodeAs(version, payload) }
	value, err := decode(payload)
	if err != nil {
		return misfits(decode, payload, err)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	given, err := parseTree(payload)
	if err != nil {
		return err
	}
	decoded, err := parseTree(encoded)
	if err != nil {
		return err
	}
	var problems Problems
	compareTrees(&problems, "", upToDate(given, reflect.ValueOf(value)), decoded)
	if err := problems.Err(); err != nil {
		return err // what is missing would be reported again, as an empty value
	}
	if valid, ok := value.(Payload); ok {
		if err := valid.Validate(); err != nil {
			return err
		}
	}
	_, err = t.decode(&engine.Record{Version: version, Payload: payload})
	return err
}

// parseTree reads JSON as maps, lists and scalars.
func parseTree(data []byte) (tree any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a float64 may not hold it
	err = decoder.Decode(&tree)
	return tree, err
}

// compareTrees finds the fields that were given and are not part of what was
// decoded, and those that are part of it and were not given.
func compareTrees(problems *Problems, path string, given, decoded any) {
	if given == nil && decoded != nil {
		problems.add(path, "is null, and must have a value")
		return
	}
	switch decoded := decoded.(type) {
	case map[string]any:
		if given, ok := given.(map[string]any); ok {
			compareFields(problems, path, given, decoded)
		}
	case []any:
		if given, ok := given.([]any); ok && len(given) == len(decoded) {
			for i := range decoded {
				compareTrees(problems, itemPath(path, i), given[i], decoded[i])
			}
		}
	}
}

func compareFields(problems *Problems, path string, given, decoded map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(decoded)) {
		if value, ok := given[name]; ok {
			compareTrees(problems, fieldPath(path, name), value, decoded[name])
		} else {
			problems.add(fieldPath(path, name), "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := decoded[name]; !known && given[name] != nil { // null: an optional field that is not set
			problems.add(fieldPath(path, name), "is not a field of this event")
		}
	}
}

// misfits finds the values that a payload does not decode for. The decoder
// knows the first of them at best, and of many types not even where it is. So
// each value is decoded alone, with all others null.
func misfits(decode func(payload []byte) (any, error), payload []byte, whole error) error {
	tree, err := parseTree(payload)
	if err != nil {
		return cause(whole) // no JSON at all
	}
	fails := func() error {
		data, err := json.Marshal(tree)
		if err == nil {
			_, err = decode(data)
		}
		return err
	}
	all := leaves("", tree, func(v any) { tree = v })
	for _, one := range all {
		one.set(nil)
	}
	var problems Problems
	if fails() == nil {
		for _, one := range all {
			one.set(one.value)
			if err := fails(); err != nil {
				problems.add(one.path, misfit(err))
			}
			one.set(nil)
		}
	}
	if err := problems.Err(); err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError // a list or an object
	if errors.As(whole, &wrong) {
		problems.add(wrong.Field, misfit(whole))
		return problems.Err()
	}
	return cause(whole)
}

// misfit says in a few words why a value does not decode.
func misfit(err error) string {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Sprintf("is a JSON %s, which does not fit %s", wrong.Value, wrong.Type)
	}
	return "is not valid: " + cause(err).Error()
}

// cause is what the decoder says, without the sentence that says of what.
func cause(err error) error {
	if decode := (*dispatch.DecodeError)(nil); errors.As(err, &decode) && errors.Unwrap(decode.Err) != nil {
		return errors.Unwrap(decode.Err)
	}
	return err
}

// leaf is a scalar in a tree.
type leaf struct {
	path  string
	value any
	set   func(any)
}

func leaves(path string, tree any, set func(any)) (found []leaf) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			found = append(found, leaves(fieldPath(path, name), tree[name], func(v any) { tree[name] = v })...)
		}
	case []any:
		for i := range tree {
			found = append(found, leaves(itemPath(path, i), tree[i], func(v any) { tree[i] = v })...)
		}
	default:
		found = append(found, leaf{path, tree, set})
	}
	return found
}

// fieldPath is the path of a field of the object at path.
func fieldPath(path, name string) string {
	if path == "" {
		return name
	}
	return joinPath(path, name)
}
