package format_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/format"
)

func TestFormatsTakeTheirTextsAndNoOthers(t *testing.T) {
	for name, texts := range map[string]struct{ good, bad []string }{
		"email":    {[]string{"ada@example.org", "a.b+c@x.example", "1+app[bot]@users.example", "a..b.@mail.example", `"ada l"@example.org`, "größe@größe.example"}, []string{"", "ada", "a b@c.example", "a,b@c.example", "a@b@c.example", "ada@", "a@b..c", "ada@example.org (Ada)", "\x00@example.org", "@example.org", "Ada <ada@example.org>", "<ada@example.org>", "a@b c", "ada@example.org "}},
		"url":      {[]string{"https://example.org", "ftp://h/p?q#f", "http://[::1]:80/"}, []string{"", "example.org", "/path", "https://", "mailto:a@b", "http://a b"}},
		"hostname": {[]string{"a", "example.org", "xn--e1afmkfd.example", "3com.example", strings.Repeat("a", 63)}, []string{"", ".", "a..b", "-a", "a-", "a_b", "ä.example", "a.", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a"}},
		"ip":       {[]string{"127.0.0.1", "::1"}, []string{"", "localhost", "fe80::1%eth0", "1.2.3", "1.2.3.04"}},
		"ipv4":     {[]string{"127.0.0.1"}, []string{"::1", "::ffff:1.2.3.4"}},
		"ipv6":     {[]string{"::1", "2001:db8::1"}, []string{"127.0.0.1", "fe80::1%eth0"}},
		"cidr":     {[]string{"10.0.0.0/8", "2001:db8::/32"}, []string{"10.0.0.0", "10.0.0.0/33", ""}},
	} {
		for _, text := range texts.good {
			if _, ok := format.Check(name, text); !ok {
				t.Errorf("%q is refused as %s", text, name)
			}
		}
		for _, text := range texts.bad {
			if noun, ok := format.Check(name, text); ok {
				t.Errorf("%q is taken for %s", text, noun)
			}
		}
	}
	if _, ok := format.Check("e-mail", "ada@example.org"); ok {
		t.Error("a format that does not exist takes a text")
	}
}

func TestDecimals(t *testing.T) {
	for _, good := range []string{"0", "-0", "1", "-1.50", "0.001", "10", "123456789012345678901234567890.1"} {
		if !format.IsDecimal(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", "-", ".", "1.", ".5", "01", "-01", "1e3", "+1", "1,5", " 1", "1_000", "0x1", "١", "1.2.3", "--1", strings.Repeat("1", format.MaxDecimal+1)} {
		if format.IsDecimal(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestDecimalsAreComparedByTheirValue(t *testing.T) {
	decimal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimal.Draw(t, "a"), decimal.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := format.CompareDecimals(a, b), x.Cmp(y); got != want {
			t.Errorf("%s and %s compare as %d, want %d", a, b, got, want)
		}
	})
}
