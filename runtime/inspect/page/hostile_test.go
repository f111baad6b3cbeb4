package page_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// hostile are texts that would do something if they were not shown as text.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</textarea></title></style></pre><svg onload=alert(1)>`,
	`javascript:alert(1)`, `{{.}}`, `<!--`, `]]>`, `&lt;b&gt;&#x202e;`,
	"\x1b[2J\x07", "\u202Egnp.exe\u202C", "\u2066hidden\u2069", "\u200b\u200e\u200f\ufeff", "\U000E0041", "not \xff UTF-8 \xc3", "a\x00b", "\u2028\u2029\u0085\u009b31m", "\r\nSet-Cookie: a=b",
	strings.Repeat("أ", 3), strings.Repeat("A", 10<<20),
}

// harmless wants a page whose text shows what it has, and in which a text made no markup.
func harmless(t *testing.T, what, got string) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Errorf("%.40q: the page is not UTF-8", what)
	}
	if bad := strings.IndexFunc(got, func(c rune) bool { return c != '\n' && c != '\t' && !words.Printable(c) }); bad >= 0 {
		t.Errorf("%.40q: the page has %q", what, got[max(0, bad-30):min(len(got), bad+30)])
	}
	for _, tag := range []string{"<script>", "<img", "<svg onload", "onmouseover='", "<b>", "<!--"} {
		if strings.Contains(got, tag) {
			t.Errorf("%.40q: the page has %s", what, tag)
		}
	}
	if len(got) > 200_000 {
		t.Errorf("%.40q: the page has %d bytes", what, len(got))
	}
}

func TestHostileTextsAreShownAsText(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	for _, text := range hostile {
		synctest.Test(t, func(t *testing.T) {
			f := SQLite.Open(t)
			f.Subscribe("printer", Fine)
			p := open(t, f)
			fields := formOf(t, shows(t, p, "/"), "pause")
			if status, _, got := post(p, "/pause", append(fields, "reason", text)...); status != http.StatusSeeOther {
				t.Fatalf("%.40q: status %d\n%s", text, status, got)
			}
			harmless(t, text, shows(t, p, "/"))
			_, _, got := get(p, "/text?of=pause&subscription=printer&types=")
			if got != text {
				t.Errorf("%.40q: the whole text is %.40q", text, got)
			}
			_, _, got = get(p, "/text?of="+url.QueryEscape(text))
			harmless(t, text, got)
			_, _, got = get(p, "/text?of=breaker&subscription="+url.QueryEscape(text[:min(len(text), 5000)]))
			harmless(t, text, got)
			_, _, got = post(p, "/resume", "subscription", url.QueryEscape(text[:min(len(text), 5000)]))
			harmless(t, text, got)
		})
	}
}

func TestAHugeTextIsCutAndHasALinkToAllOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		p := open(t, f)
		whole := strings.Repeat("ä", 3000)
		Must(t, f.File.PauseSubscription(t.Context(), "printer", whole))
		got := shows(t, p, "/", "all of it (4,000 more bytes)")
		_, rest, _ := strings.Cut(got, `<a href="./text?`)
		query, _, _ := strings.Cut(rest, `"`)
		status, header, text := get(p, "/text?"+strings.ReplaceAll(query, "&amp;", "&"))
		if status != http.StatusOK || text != whole || !strings.HasPrefix(header.Get("Content-Type"), "text/plain") || !strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("status %d, %v, %d bytes", status, header, len(text))
		}
	})
}

func TestASubscriptionWithAHostileNameIsShownAsTextAndCanBePaused(t *testing.T) {
	short.Visit(t, "it fetches many pages")
	for _, name := range hostile[:len(hostile)-1] { // the last one is too long for a name
		synctest.Test(t, func(t *testing.T) {
			f := SQLite.Open(t)
			if _, err := runtime.Subscribe(f.Bus, PlacedType, name, func(context.Context, runtime.Event[Order]) error { return nil }); err != nil {
				t.Logf("%q is no name: %v", name, err)
				return
			}
			p := open(t, f)
			page := shows(t, p, "/")
			harmless(t, name, page)
			status, header, got := post(p, "/pause", formOf(t, page, "pause")...)
			if status != http.StatusSeeOther {
				t.Fatalf("%q: status %d\n%s", name, status, got)
			}
			harmless(t, name, shows(t, p, strings.TrimPrefix(header.Get("Location"), "."), " is paused."))
			state, err := f.File.Status(t.Context())
			Must(t, err)
			if len(state.Pauses) != 1 || state.Pauses[0].Subscription != name {
				t.Errorf("%q: the pauses are %+v", name, state.Pauses)
			}
		})
	}
}
