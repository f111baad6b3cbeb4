package busotel

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Metadata may come from anywhere, and what is valid may still be large.
func TestTraceContextsThatAreTooLongAreNotRead(t *testing.T) {
	const fields = "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	state := func(members, size int) string {
		var all []string
		for n := range members {
			all = append(all, fmt.Sprintf("k%d=%s", n, strings.Repeat("v", size)))
		}
		return strings.Join(all, ",")
	}
	for name, of := range map[string]struct {
		parent, state string
		valid         bool
		stated        int // members
	}{
		"plain":                     {"00" + fields, state(2, 10), true, 2},
		"a later version":           {"01" + fields + "-" + strings.Repeat("0", 100), "", true, 0},
		"a later version, too long": {"01" + fields + "-" + strings.Repeat("0", 300), "", false, 0},
		"a long state":              {"00" + fields, state(30, 200), true, 30},
		"a state that is too long":  {"00" + fields, state(32, 256), true, 0},
	} {
		sc := creationContext(map[string]string{traceParentKey: of.parent, traceStateKey: of.state})
		if state := sc.TraceState(); sc.IsValid() != of.valid || state.Len() != of.stated {
			t.Errorf("%s: valid %v, with %d members", name, sc.IsValid(), state.Len())
		}
	}
}

func TestTextsAreShortAndValid(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 5000), strings.Repeat("é", 5000), "x" + strings.Repeat("€", 5000), strings.Repeat("\xff", 5000), "a\x00\xffb", ""} {
		got := plain(text)
		if len(got) > 3*textLimit+3 || utf8.RuneCountInString(got) > textLimit+1 || !utf8.ValidString(got) {
			t.Errorf("%.10q… of %d bytes becomes %d bytes", text, len(text), len(got))
		}
		if len(text) > textLimit && !strings.HasSuffix(got, "…") {
			t.Errorf("%.10q… does not say that it was cut", text)
		}
	}
	if got := plain("a\xffb"); got != "a�b" {
		t.Errorf("got %q", got)
	}
}

// Nothing in metadata makes reading it panic.
func FuzzCreationContext(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=1")
	f.Add("", "")
	f.Add("ff-\x00", "=,=")
	f.Fuzz(func(t *testing.T, parent, state string) {
		sc := creationContext(map[string]string{traceParentKey: parent, traceStateKey: state})
		if sc.IsValid() && len(parent) < 55 {
			t.Errorf("%q is read as %v", parent, sc)
		}
	})
}
