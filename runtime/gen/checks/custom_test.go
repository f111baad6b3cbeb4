package checks_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/checks"
)

// even has a method Validate of its pointer.
type even struct{ N int }

func (e *even) Validate() error {
	if e.N%2 != 0 {
		return errors.New("is odd")
	}
	return nil
}

// deaf can be written and not be read.
type deaf struct{ N int }

func (*deaf) UnmarshalJSON([]byte) error { return errors.New("no, thanks") }

// mute can be read and not be written.
type mute struct{ N int }

func (mute) MarshalJSON() ([]byte, error) { return nil, errors.New("not a word") }

// fading becomes less with each time that it is written.
type fading struct{ N int }

func (f *fading) UnmarshalJSON(text []byte) error { f.N = len(text) - len(`{"N":}`) - 1; return nil }

// lonely is equal to nothing.
type lonely struct{ N int }

func (lonely) Equal(lonely) bool { return false }

func TestAValueOfACustomTypeIsValidIfItsJSONRestoresIt(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string // a part of the message; empty for none
	}{
		{checks.Custom(7), ""},
		{checks.Custom(*big.NewInt(7)), ""},
		{checks.Custom(*new(big.Int).Sub(big.NewInt(7), big.NewInt(7))), ""},
		{checks.Custom[any](nil), ""},
		{checks.Custom(map[string]any{"n": 1}), ""}, // which comes back as a float64
		{checks.Custom(even{2}), ""},
		{checks.Custom(even{1}), "is odd"},
		{checks.Custom(runtime.Date{}), "is not a day of the calendar"},
		{checks.Custom(struct{ secret int }{1}), "its JSON leaves out secret"},
		{checks.Custom(struct{ secret int }{0}), ""},
		{checks.Custom(deaf{1}), `its JSON {"N":1} cannot be read back: no, thanks`},
		{checks.Custom(mute{1}), "not a word"},
		{checks.Custom(fading{7}), `decoding its JSON {"N":7} gives {"N":0}`},
		{checks.Custom(lonely{7}), `decoding its JSON {"N":7} gives another value, according to its method Equal`},
		{checks.Custom(func() {}), "cannot be stored: json: unsupported type"},
	} {
		if got := test.err; got == nil && test.want != "" || got != nil && (test.want == "" || !strings.Contains(got.Error(), test.want)) {
			t.Errorf("got %v, want %q", got, test.want)
		}
	}
}

// quoted is a number in Go and a text in JSON.
type quoted int64

func (q quoted) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(q), 10)) }

func (q *quoted) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	*q = quoted(n)
	return err
}

// absent has null as its JSON.
type absent struct{}

func (absent) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func TestTheJSONOfACustomTypeIsWhatTheCatalogueSays(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{checks.CustomAs[string](quoted(7)), ""},
		{checks.CustomAs[int64](quoted(7)), `cannot be stored: its JSON is "7", and the catalogue says that it is that of int64: json: cannot unmarshal string into Go value of type int64; change the type, or what the catalogue says of it`},
		{checks.CustomAs[*int64](quoted(7)), "that of int64: json"},
		{checks.CustomAs[[]int64]([]quoted{7}), "that of []int64: json"},
		{checks.CustomAs[map[string]int64](map[string]quoted{"a": 7}), "that of map[string]int64: json"},
		{checks.CustomAs[int32](int64(1 << 40)), "cannot unmarshal number 1099511627776 into Go value of type int32"},
		{checks.CustomAs[float64](7), ""},
		{checks.CustomAs[bool]("true"), "that of bool: json"},
		{checks.CustomAs[[]byte]("not base64!"), "that of []uint8: illegal base64"},
		{checks.CustomAs[time.Time]("today"), "that of time.Time: parsing time"},
		{checks.CustomAs[runtime.Date]("2026-02-30"), "that of runtime.Date"},
		{checks.CustomAs[runtime.Decimal]("1,5"), "that of runtime.Decimal"},
		{checks.CustomAs[[]runtime.Decimal]([]string{"1.5", "1,5"}), "that of []runtime.Decimal"},
		{checks.CustomAs[*runtime.Decimal]("1,5"), "that of runtime.Decimal"},
		{checks.CustomAs[string](absent{}), "its JSON is null, and the catalogue says that it is that of string"},
		{checks.CustomAs[*string](absent{}), ""},
		{checks.CustomAs[[]string]([]string(nil)), ""},
		{checks.CustomAs[map[string]string](map[string]string(nil)), ""},
		{checks.CustomAs[int](even{1}), "is odd"},
	} {
		if test.err == nil && test.want != "" || test.err != nil && (test.want == "" || !strings.Contains(test.err.Error(), test.want)) {
			t.Errorf("got %v, want %s", test.err, test.want)
		}
	}
}
