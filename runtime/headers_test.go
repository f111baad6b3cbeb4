package runtime

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

func TestTheKeysOfTheBusAreNoHeaders(t *testing.T) {
	for _, key := range append(engine.OwnKeys(), event.CorrelationKey, engine.TraceParentKey, engine.TraceStateKey, engine.HandlingPrefix+"x") {
		if format.ReservedHeader(key) == "" {
			t.Errorf("%s can be a header", key)
		}
	}
	if why := format.ReservedHeader("tenant"); why != "" {
		t.Errorf("tenant cannot be a header: %s", why)
	}
}

func TestHeadersThatCannotBe(t *testing.T) {
	for name, headers := range map[string][]declare.Header{
		"no name":        {{Type: "string"}},
		"no UTF-8":       {{Name: "\xff", Type: "string"}},
		"the bus's own":  {{Name: "hops", Type: "int"}},
		"no type":        {{Name: "a"}},
		"another type":   {{Name: "a", Type: "json"}},
		"one name twice": {{Name: "a", Type: "int"}, {Name: "a", Type: "int"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "runtime.Define(order.placed): header") {
					t.Errorf("panic %q", text)
				}
			}()
			Define(Spec[overriddenPayload]{Name: "order.placed", Settings: declare.DefaultSettings(), Headers: headers})
		})
	}
}

// overriddenPayload is a payload without fields.
type overriddenPayload struct{}

func (overriddenPayload) Validate() error { return nil }

// A value that has a text is read again from it.
func TestTheTextOfAHeaderStandsForItsValue(t *testing.T) {
	check := func(t *rapid.T, value any, into any, value2 func() any) {
		text, err := headerText(value)
		if err != nil {
			t.Fatalf("%v has no text: %v", value, err)
		}
		if err := parseHeader(text, into); err != nil {
			t.Fatalf("%v has the text %q: %v", value, text, err)
		}
		if got := value2(); got != value {
			t.Fatalf("%v has the text %q, which is %v", value, text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var (
			s string
			b bool
			i int
			j int32
			k int64
			u uint64
			f float64
			d Duration
			y uuid.UUID
			z Date
			m time.Time
		)
		check(t, rapid.String().Draw(t, "string"), &s, func() any { return s })
		check(t, rapid.Bool().Draw(t, "bool"), &b, func() any { return b })
		check(t, rapid.Int().Draw(t, "int"), &i, func() any { return i })
		check(t, rapid.Int32().Draw(t, "int32"), &j, func() any { return j })
		check(t, rapid.Int64().Draw(t, "int64"), &k, func() any { return k })
		check(t, rapid.Uint64().Draw(t, "uint64"), &u, func() any { return u })
		check(t, rapid.Float64().Draw(t, "float64"), &f, func() any { return f })
		check(t, Duration(rapid.Int64().Draw(t, "duration")), &d, func() any { return d })
		check(t, uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")), &y, func() any { return y })
		moment := time.Unix(rapid.Int64Range(-60_000_000_000, 250_000_000_000).Draw(t, "time"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		check(t, moment, &m, func() any { return m })
		check(t, DateOf(moment), &z, func() any { return z })
	})
}

func TestAHeaderWithATimeWhoseOffsetHasSecondsIsInUTC(t *testing.T) {
	moment := time.Date(1900, 1, 1, 12, 0, 0, 0, time.FixedZone("", 20*60-28))
	if text, err := headerText(moment); err != nil || text != "1900-01-01T11:40:28Z" {
		t.Errorf("%v is the header %q, %v", moment, text, err)
	}
}

func TestTextsThatAreNoHeaders(t *testing.T) {
	for typ, texts := range map[string][]string{
		"bool":     {"", "TRUE", "1", " true"},
		"int":      {"", "+1", "007", "-0", "1.0", "99999999999999999999", "１"},
		"int32":    {"2147483648"},
		"uint64":   {"-1", "18446744073709551616", "0x10"},
		"float64":  {"", "NaN", "Inf", "0x1p4", "1e999", "1_0", " 1"},
		"time":     {"2026-01-02", "2026-01-02 15:04:05Z", ""},
		"date":     {"2026-02-30", "2026-1-2"},
		"duration": {"5", "one hour"},
		"uuid":     {"", "urn:uuid:00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000"},
		"decimal":  {"", "1,5", "1e3"},
	} {
		for _, text := range texts {
			if err := parseHeader(text, newHeaderValue(typ)); err == nil {
				t.Errorf("%q is taken for a %s", text, typ)
			}
		}
	}
	for _, value := range []any{math.NaN(), math.Inf(1), Date{}, Decimal("x"), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if text, err := headerText(value); err == nil {
			t.Errorf("%v has the text %q", value, text)
		}
	}
}

func TestReadingAHeaderSaysWhatIsWrong(t *testing.T) {
	value, err := HeaderOf[int](map[string]string{"page": "many"}, "page")
	bad, ok := errors.AsType[*HeaderError](err)
	if value != 0 || !ok || bad.Type != "int" || !strings.HasPrefix(err.Error(), `the header page is no int: "many" is not a whole number`) {
		t.Errorf("got %v, %v", value, err)
	}
	if _, err := HeaderOf[string](nil, "tenant"); !errors.Is(err, ErrNoHeader) || err.Error() != "the metadata has no header tenant" {
		t.Errorf("got %v", err)
	}
}
