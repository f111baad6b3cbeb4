package checks_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

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
