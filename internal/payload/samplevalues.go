package payload

import (
	"encoding/base64"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/catalog"
)

// formatSpecimens has a string of each format.
var formatSpecimens = map[string]string{
	"email": "ada@example.org", "url": "https://example.org/", "hostname": "example.org",
	"ip": "192.0.2.1", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "cidr": "192.0.2.0/24",
}

// sampleText makes up a string for a field, as well as it can.
func sampleText(name string, c catalog.Constraints) string {
	switch {
	case c.Format.Written():
		return formatSpecimens[c.Format.V]
	case c.Pattern.Written():
		return matching(c)
	}
	return fitted(name, c)
}

// fitted repeats or cuts a string until its length is right.
func fitted(text string, c catalog.Constraints) string {
	if missing := c.MinLength.V - len(text); missing > 0 && missing <= maxSample {
		text += strings.Repeat("x", missing)
	}
	if c.MaxLength.Written() && len(text) > c.MaxLength.V {
		text = text[:c.MaxLength.V]
	}
	return text
}

// matching makes up a string that matches a pattern: the shortest that the expression suggests, or a longer
// one if that does not have the right length.
func matching(c catalog.Constraints) string {
	pattern := c.Pattern.V.Regexp
	parsed, err := syntax.Parse(c.Pattern.V.Text, syntax.Perl)
	if err != nil {
		return ""
	}
	const mostRepeats = 100
	shortest := ""
	for repeats := range mostRepeats {
		w := patternWalk{repeats: repeats}
		w.write(parsed)
		text := w.String()
		if repeats == 0 {
			shortest = text
		}
		if pattern.MatchString(text) && utf8.RuneCountInString(text) >= c.MinLength.V {
			return text
		}
		if longer := fitted(text, c); pattern.MatchString(longer) && len(longer) >= c.MinLength.V {
			return longer
		}
	}
	return shortest
}

// patternWalk writes a string that a regular expression describes.
type patternWalk struct {
	strings.Builder
	repeats int // of what may be repeated, beyond what must be
}

func (w *patternWalk) write(re *syntax.Regexp) {
	if w.Len() > maxSample {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		w.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		w.WriteRune(oneOfClass(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := repetition(re)
		for range min(least+w.repeats, most) {
			w.write(re.Sub[0])
		}
	}
}

// repetition returns how often a part of an expression is repeated.
func repetition(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpPlus:
		return 1, maxSample
	case syntax.OpQuest:
		return 0, 1
	case syntax.OpRepeat:
		if re.Max < 0 {
			return re.Min, maxSample
		}
		return re.Min, re.Max
	}
	return 0, maxSample
}

// oneOfClass chooses a readable character, if the class has one.
func oneOfClass(ranges []rune) rune {
	for _, wanted := range "AaX0x-_ " {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= wanted && wanted <= ranges[i+1] {
				return wanted
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	return ranges[0]
}

// sampleBytes makes up bytes: 0, 1, 2 and so on.
func sampleBytes(c catalog.Constraints) string {
	n := max(4, c.MinLength.V)
	if c.MaxLength.Written() {
		n = min(n, c.MaxLength.V)
	}
	b := make([]byte, min(n, maxSample))
	for i := range b {
		b[i] = byte(i)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// sampleNumber makes up a number, a decimal or a duration within its bounds.
func sampleNumber(kind catalog.Kind, c catalog.Constraints, usual string) string {
	value := catalog.NewBound(kind, usual)
	switch {
	case c.Min.Written() && value.Compare(c.Min.V) < 0:
		return c.Min.V.Text
	case c.Max.Written() && value.Compare(c.Max.V) > 0:
		return c.Max.V.Text
	}
	return usual
}

// vary returns the n-th value of a scalar, from 0, for lists that must not have equal items. The value is in
// its JSON form without quotes.
func vary(kind catalog.Kind, value string, n int) string {
	if n == 0 {
		return value
	}
	switch kind {
	case catalog.Bool:
		return strconv.FormatBool(n%2 == 0)
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64:
		return strconv.Itoa(n + 1)
	case catalog.Float64, catalog.Decimal:
		return strconv.Itoa(n+1) + value[strings.IndexByte(value, '.'):]
	case catalog.String:
		return value + strconv.Itoa(n+1)
	case catalog.Date:
		return time.Date(2024, 2, 29+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	case catalog.Duration:
		return (time.Hour + time.Duration(n)*time.Minute).String()
	case catalog.UUID:
		return fmt.Sprintf("018f4f2e-0000-7000-8000-%012d", n+1)
	}
	return value
}
