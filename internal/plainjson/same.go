package plainjson

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// Same reports whether two documents have the same value, however it is written: objects in any order of their keys,
// texts with any escapes, numbers as 1.50e1 or 15. Of a key that is there twice the last one counts, as for decoders.
// A text that is no JSON is only the same as itself, to the byte.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, readX := valueOf(a)
	y, readY := valueOf(b)
	return readX && readY && sameValue(x, y)
}

func valueOf(document []byte) (value any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil, false
	}
	_, err := d.Token()
	return value, err == io.EOF
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, there := b[key]; !there || !sameValue(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameValue(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && plainNumber(a) == plainNumber(b)
	}
	return a == b
}

// plainNumber returns one text for all that write the same number, exactly.
func plainNumber(n json.Number) string {
	text, sign := strings.CutPrefix(string(n), "-")
	digits, power, scientific := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if scientific {
		e, err := strconv.ParseInt(power, 10, 32)
		if err != nil { // beyond all that any decoder takes for a number
			return string(n)
		}
		exponent = int(e)
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits, exponent = strings.TrimLeft(whole+fraction, "0"), exponent-len(fraction)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if short == "" {
		return "0"
	}
	if sign {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}
