package payload

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/plainjson"
)

// isNumeric tells whether a value of t is a number in JSON.
func isNumeric(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64:
		return true
	case catalog.Named:
		return t.Named.Integer
	}
	return false
}

// wrongToken returns "" if a token of the right kind is a value of the scalar type t, or else what it is
// not, such as "base64". Decoders take every value for an enum and every text for a decimal.
func wrongToken(t *catalog.TypeRef, raw json.RawMessage, lenient bool) string {
	if isNumeric(t) {
		return wrongNumber(t, string(raw), lenient)
	}
	var err error
	want, text := "", plainjson.Unquote(raw)
	switch t.Kind {
	case catalog.Bytes:
		_, err = base64.StdEncoding.DecodeString(text)
		want = "base64"
	case catalog.Time:
		err = new(time.Time).UnmarshalJSON(raw) // which does not know escapes
		want = "a time, as in 2024-02-29T12:30:00Z"
	case catalog.Date:
		_, err = time.Parse(time.DateOnly, text)
		want = "a day, as in 2024-02-29"
	case catalog.Duration:
		_, err = time.ParseDuration(text)
		want = "a duration, as in 1h30m"
	case catalog.UUID:
		_, err = uuid.Parse(text)
		want = "a UUID"
	case catalog.Decimal:
		if !lenient && !format.IsDecimal(text) {
			return "a decimal, as in -12.50"
		}
	case catalog.Named:
		if !lenient {
			return wrongEnum(t.Named, text)
		}
	}
	if err == nil {
		return ""
	}
	return want
}

func wrongNumber(t *catalog.TypeRef, number string, lenient bool) string {
	if t.Kind == catalog.Named && !lenient {
		return wrongEnum(t.Named, number)
	}
	var err error
	switch t.Kind {
	case catalog.Int, catalog.Int64, catalog.Named:
		_, err = strconv.ParseInt(number, 10, 64)
	case catalog.Int32:
		_, err = strconv.ParseInt(number, 10, 32)
	case catalog.Uint64:
		_, err = strconv.ParseUint(number, 10, 64)
	default:
		_, err = strconv.ParseFloat(number, 64)
	}
	if err == nil {
		return ""
	}
	text, _ := catalog.CutMark(t.WireText())
	return "a value of " + text
}

func wrongEnum(t *catalog.Type, text string) string {
	var values []string
	for _, v := range t.Values {
		value := v.Name.V
		if t.Integer {
			value = strconv.Itoa(v.Number)
		}
		if value == text {
			return ""
		}
		values = append(values, diag.Label(value))
	}
	return "a value of " + t.Name.V + ": use one of " + strings.Join(values, ", ")
}
