// Package exact checks the JSON of a payload that a person has written. It is stricter
// than the bus, which also reads events of other versions of the catalogue.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/busgen/busgen/internal/plainjson"
	"github.com/busgen/busgen/runtime/gen/checks"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
)

// Check checks the JSON of a payload: it must be valid UTF-8, have no key twice, decode
// with decode, have every required field and no unknown one, and its value must pass
// its Validate method. Check returns nil if nothing is wrong, and otherwise an error,
// usually a *[checks.ValidationError].
func Check(payload []byte, decode func(payload []byte) (any, error)) error {
	var unclear checks.Problems
	for _, p := range plainjson.Check(payload) {
		unclear.Add(p.Path, p.Message)
	}
	if err := unclear.Err(); err != nil {
		return err
	}
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
	var problems checks.Problems
	compareTrees(&problems, nil, upToDate(given, reflect.ValueOf(value)), decoded)
	if err := problems.Err(); err != nil {
		return err // Validate would report what is missing again, as an empty value
	}
	if valid, ok := value.(validator); ok {
		return valid.Validate()
	}
	return nil
}

// validator is implemented by generated payloads.
type validator interface{ Validate() error }

// parseTree reads JSON as maps, lists and scalars.
func parseTree(data []byte) (tree any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a float64 may not hold it
	err = decoder.Decode(&tree)
	return tree, err
}

// mostProblems is how many fields Check names: a payload of strangers may have millions.
const mostProblems = 100

// compareTrees reports the fields that were given but not decoded, and the fields of
// the decoded value that were not given.
func compareTrees(problems *checks.Problems, at *place, given, decoded any) {
	if given == nil && decoded != nil {
		report(problems, at, "is null, and must have a value")
		return
	}
	switch decoded := decoded.(type) {
	case map[string]any:
		if given, ok := given.(map[string]any); ok {
			compareFields(problems, at, given, decoded)
		}
	case []any:
		if given, ok := given.([]any); ok && len(given) == len(decoded) {
			for i := range decoded {
				compareTrees(problems, at.item(i), given[i], decoded[i])
			}
		}
	}
}

func compareFields(problems *checks.Problems, at *place, given, decoded map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(decoded)) {
		if value, ok := given[name]; ok {
			compareTrees(problems, at.field(name), value, decoded[name])
		} else {
			report(problems, at.field(name), "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := decoded[name]; !known && given[name] != nil { // null: an optional field that is not set
			report(problems, at.field(name), "is not a field of this event")
		}
	}
}

func report(problems *checks.Problems, at *place, message string) {
	if problems.Len() < mostProblems {
		problems.Add(at.String(), message)
	}
}

// misfits reports the values because of which a payload does not decode. The decoder
// reports only the first, and for many types not even its place. So misfits decodes
// each value alone, with all others null. That takes a time in proportion to the number of
// values and the size of the payload: one that is large gets the error of the decoder.
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
	if countLeaves(tree)*len(payload) > mostDecoded {
		return cause(whole)
	}
	all := leaves(nil, tree, func(v any) { tree = v })
	for _, one := range all {
		one.set(nil)
	}
	var problems checks.Problems
	if fails() == nil {
		for _, one := range all {
			one.set(one.value)
			if err := fails(); err != nil {
				problems.Add(one.at.String(), misfit(err))
			}
			one.set(nil)
		}
	}
	if err := problems.Err(); err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError // a list or an object
	if errors.As(whole, &wrong) {
		problems.Add(wrong.Field, misfit(whole))
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

// cause returns the error inside a [dispatch.DecodeError].
func cause(err error) error {
	if decode := (*errs.DecodeError)(nil); errors.As(err, &decode) && errors.Unwrap(decode.Err) != nil {
		return errors.Unwrap(decode.Err)
	}
	return err
}

// mostDecoded is how many bytes misfits decodes: less than a second.
const mostDecoded = 16 << 20

func countLeaves(tree any) (n int) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, value := range tree {
			n += countLeaves(value)
		}
		return n
	case []any:
		for _, value := range tree {
			n += countLeaves(value)
		}
		return n
	}
	return 1
}

// leaf is a scalar in a tree of JSON values.
type leaf struct {
	at    *place
	value any
	set   func(any)
}

func leaves(at *place, tree any, set func(any)) (found []leaf) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			found = append(found, leaves(at.field(name), tree[name], func(v any) { tree[name] = v })...)
		}
	case []any:
		for i := range tree {
			found = append(found, leaves(at.item(i), tree[i], func(v any) { tree[i] = v })...)
		}
	default:
		found = append(found, leaf{at, tree, set})
	}
	return found
}
