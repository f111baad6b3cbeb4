package runtime

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/gen/wire"
)

// HeaderValue is a Go type of the values of a [declare.Header].
type HeaderValue interface {
	string | bool | int | int32 | int64 | uint64 | float64 | time.Time | Date | Duration | uuid.UUID | Decimal
}

// ErrNoHeader is in the *[HeaderError] of an event without a header.
var ErrNoHeader = errors.New("it is not there")

// HeaderError says that the metadata of an event does not have a header that is required, or
// has one whose text is not a value of its type ([declare.Header]). If Publish returns it, nothing was stored.
type HeaderError struct {
	EventType string // empty if a function that reads metadata returns it
	Header    string // the key
	Type      string // its type in the catalogue
	Option    string // that sets it, such as WithTenant; empty if the catalogue names none
	Err       error  // ErrNoHeader, or what is wrong with the value
}

// Error says which option to use.
func (e *HeaderError) Error() string {
	missing := errors.Is(e.Err, ErrNoHeader)
	switch {
	case missing && e.EventType == "":
		return fmt.Sprintf("the metadata has no header %s", e.Header)
	case missing:
		return fmt.Sprintf("this %s has no header %s, which is required: give Publish the option %s", e.EventType, e.Header, e.option())
	case e.EventType == "":
		return fmt.Sprintf("the header %s is no %s: %v", e.Header, e.Type, e.Err)
	}
	return fmt.Sprintf("this %s has a header %s that is no %s: %v: use the option %s", e.EventType, e.Header, e.Type, e.Err, e.option())
}

func (e *HeaderError) option() string {
	if e.Option == "" {
		return fmt.Sprintf("WithHeader(%q, …)", e.Header)
	}
	return e.Option
}

// Unwrap returns the cause.
func (e *HeaderError) Unwrap() error { return e.Err }

// WithHeader attaches a value to the metadata of an event, as [WithMetadata] attaches texts.
// Generated code has an option for each header of the catalogue, such as WithTenant, which calls
// it. A value without a text, such as a [Date] that does not exist, is refused with a *[HeaderError].
func WithHeader[T HeaderValue](name string, value T) PublishOption {
	return withHeader(name, value)
}

func withHeader(name string, value any) PublishOption {
	text, err := headerText(value)
	if err == nil {
		return WithMetadata(map[string]string{name: text})
	}
	return func(c *publishConfig) {
		c.refuse(&HeaderError{Header: name, Type: headerTypeOf(value), Err: err})
	}
}

// HeaderOf returns the value of a header in the metadata of an event: that of [Event], which
// handlers have, or of a [Publication]. Generated code has a function for each header of the
// catalogue, such as TenantOf, which calls it. The error is a *[HeaderError]: with [ErrNoHeader]
// if the header is not there, which is possible also for a required one, because an event may be
// older than the header. The value is zero then.
func HeaderOf[T HeaderValue](metadata map[string]string, name string) (T, error) {
	var value T
	if err := readHeader(metadata, name, &value); err != nil {
		var zero T
		return zero, err
	}
	return value, nil
}

func readHeader(metadata map[string]string, name string, value any) error {
	text, there := metadata[name]
	if !there {
		return &HeaderError{Header: name, Type: headerTypeOf(value), Err: ErrNoHeader}
	}
	if err := parseHeader(text, value); err != nil {
		return &HeaderError{Header: name, Type: headerTypeOf(value), Err: err}
	}
	return nil
}

// headerTypes are the types of headers, each with a pointer to a value.
var headerTypes = []struct {
	name  string
	value func() any
}{
	{"string", newHeader[string]}, {"bool", newHeader[bool]}, {"int", newHeader[int]}, {"int32", newHeader[int32]},
	{"int64", newHeader[int64]}, {"uint64", newHeader[uint64]}, {"float64", newHeader[float64]}, {"time", newHeader[time.Time]},
	{"date", newHeader[Date]}, {"duration", newHeader[Duration]}, {"uuid", newHeader[uuid.UUID]}, {"decimal", newHeader[Decimal]},
}

func newHeader[T HeaderValue]() any { return new(T) }

// headerTypeOf returns the name of the type of a value, or of a pointer to one.
func headerTypeOf(value any) string {
	switch value.(type) {
	case bool, *bool:
		return "bool"
	case int, *int:
		return "int"
	case int32, *int32:
		return "int32"
	case int64, *int64:
		return "int64"
	case uint64, *uint64:
		return "uint64"
	case float64, *float64:
		return "float64"
	case time.Time, *time.Time:
		return "time"
	case Date, *Date:
		return "date"
	case Duration, *Duration:
		return "duration"
	case uuid.UUID, *uuid.UUID:
		return "uuid"
	case Decimal, *Decimal:
		return "decimal"
	}
	return "string"
}

// headerText returns the text of a [HeaderValue].
func headerText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", fmt.Errorf("%v is not a number", v)
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case Decimal:
		return string(v), v.Validate()
	case time.Time: // as in payloads
		var w wire.Writer
		w.Time(v)
		if text, ok := w.Finish(); ok {
			return string(text[1 : len(text)-1]), nil
		}
		text, err := v.MarshalText()
		return string(text), err
	case interface{ MarshalText() ([]byte, error) }:
		text, err := v.MarshalText()
		return string(text), err
	}
	return fmt.Sprint(value), nil // whole numbers
}

// parseHeader sets value, a pointer to a [HeaderValue], to what text stands for. There is one
// text for each value, except for fractions, times and durations.
func parseHeader(text string, value any) (err error) {
	switch v := value.(type) {
	case *string:
		*v = text
	case *bool:
		if *v = text == "true"; !*v && text != "false" {
			return notHeader(text, "true or false")
		}
	case *int:
		return parseWhole(text, v, strconv.IntSize)
	case *int32:
		return parseWhole(text, v, 32)
	case *int64:
		return parseWhole(text, v, 64)
	case *uint64:
		if *v, err = strconv.ParseUint(text, 10, 64); err != nil || strconv.FormatUint(*v, 10) != text {
			return notHeader(text, "a whole number from 0 on")
		}
	case *float64:
		if *v, err = strconv.ParseFloat(text, 64); err != nil || math.IsInf(*v, 0) || strings.Trim(text, "0123456789+-.eE") != "" {
			return notHeader(text, "a number")
		}
	case *time.Time:
		if v.UnmarshalText([]byte(text)) != nil {
			return notHeader(text, "a time such as 2006-01-02T15:04:05Z")
		}
	case *uuid.UUID:
		if *v, err = uuid.Parse(text); err != nil || len(text) != len(uuid.Nil.String()) {
			return notHeader(text, "a UUID")
		}
	case *Date:
		return v.UnmarshalText([]byte(text))
	case *Duration:
		return v.UnmarshalText([]byte(text))
	case *Decimal:
		*v, err = ParseDecimal(text)
		return err
	}
	return nil
}

func parseWhole[T int | int32 | int64](text string, value *T, bits int) error {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return notHeader(text, "a whole number of "+strconv.Itoa(bits)+" bits")
	}
	*value = T(n)
	return nil
}

func notHeader(text, want string) error { return fmt.Errorf("%.60q is not %s", text, want) }

// headerProblem says in words what is wrong with the header itself, or "".
func headerProblem(h declare.Header) string {
	switch {
	case h.Name == "" || !utf8.ValidString(h.Name):
		return "its name is empty or not UTF-8"
	case format.ReservedHeader(h.Name) != "":
		return format.ReservedHeader(h.Name)
	case newHeaderValue(h.Type) == nil:
		return fmt.Sprintf("its type is %q, which no header has", h.Type)
	}
	return ""
}

// newHeaderValue returns a pointer to a value, nil if there is no such type.
func newHeaderValue(ofType string) any {
	for _, t := range headerTypes {
		if t.name == ofType {
			return t.value()
		}
	}
	return nil
}

// checkHeaders returns nil if metadata has what the headers of the event type say. What is missing
// counts only if the metadata is complete.
func (t *eventType) checkHeaders(metadata map[string]string, complete bool) error {
	for _, h := range t.spec.Headers {
		text, there := metadata[h.Name]
		var err error
		switch {
		case there && text == "" && h.Required && h.Type == "string":
			err = errors.New("it is empty")
		case there && h.Type != "string":
			err = parseHeader(text, newHeaderValue(h.Type))
		case !there && h.Required && complete:
			err = ErrNoHeader
		}
		if err != nil {
			return t.headerError(&HeaderError{Header: h.Name, Type: h.Type, Err: err})
		}
	}
	return nil
}

// headerError completes an error about a header of an event.
func (t *eventType) headerError(e *HeaderError) *HeaderError {
	e.EventType = t.spec.Name
	for _, h := range t.spec.Headers {
		if h.Name == e.Header {
			e.Option = h.Option
		}
	}
	return e
}
