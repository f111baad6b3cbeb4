package page_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"

	"github.com/busgen/busgen/runtime/inspect/page"
)

func TestARequestThatMayNotActChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		free := open(t, f)
		fields := formOf(t, shows(t, free, "/"), "pause")
		nobody := func(actor string, ok bool) http.Handler {
			return pageOf(t, f, page.WithActions(func(*http.Request) (string, bool) { return actor, ok }))
		}
		crossSite := func(change func(*http.Request)) *http.Request {
			r := form("/pause", fields...)
			change(r)
			return r
		}
		for what, c := range map[string]struct {
			on      http.Handler
			request *http.Request
			status  int
		}{
			"a page that only looks": {pageOf(t, f), form("/pause", fields...), http.StatusForbidden},
			"nobody":                 {nobody("ada", false), form("/pause", fields...), http.StatusForbidden},
			"an empty name":          {nobody("", true), form("/pause", fields...), http.StatusForbidden},
			"GET":                    {free, httptest.NewRequest("GET", "/pause?subscription=printer", nil), http.StatusMethodNotAllowed},
			"PUT":                    {free, httptest.NewRequest("PUT", "/pause?subscription=printer", nil), http.StatusMethodNotAllowed},
			"POST to a page":         {free, form("/", fields...), http.StatusMethodNotAllowed},
			"another site":           {free, crossSite(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }), http.StatusForbidden},
			"another port":           {free, crossSite(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }), http.StatusForbidden},
			"another site, an old browser": {free, crossSite(func(r *http.Request) {
				r.Header.Del("Sec-Fetch-Site")
				r.Header.Set("Origin", "https://evil.example")
			}), http.StatusForbidden},
			"fields in the address": {free, crossSite(func(r *http.Request) { r.URL.RawQuery = "subscription=printer"; r.Body = http.NoBody }), http.StatusBadRequest},
			"no such name":          {free, form("/pause", "subscription", "prnter"), http.StatusNotFound},
			"a damaged field":       {free, form("/pause", "subscription", "%zz"), http.StatusBadRequest},
		} {
			if status, _, got := do(c.on, c.request); status != c.status {
				t.Errorf("%s: status %d, want %d\n%s", what, status, c.status, got)
			}
		}
		entries, _, err := f.File.Audit(t.Context(), event.AuditFilter{}, event.Page{})
		Must(t, err)
		if len(entries) > 0 {
			t.Errorf("the audit has %+v", entries)
		}
		if _, _, got := post(pageOf(t, f), "/pause", fields...); !strings.Contains(got, "This page only looks. Nothing was changed.") {
			t.Errorf("a page that only looks does not say so:\n%s", got)
		}
		if got := shows(t, pageOf(t, f), "/", "busgen subscriptions pause"); strings.Contains(got, "<form") {
			t.Error("a page that only looks has a form")
		}
	})
}

func TestEveryAnswerForbidsWhatThePageDoesNotNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		Must(t, f.File.PauseSubscription(t.Context(), "printer", "no paper"))
		p := open(t, f)
		for _, path := range []string{"/", "/problems", "/group?id=a", "/plan", "/job", "/letter", "/event?id=0", "/events", "/subscriptions", "/catalogue", "/type?name=order.placed", "/audit", "/publish", "/style.css", "/script.js", "/icon.svg", "/text?of=pause&subscription=printer&types=", "/live", "/nowhere", "/pause"} {
			method := "GET"
			if path == "/live" { // which does not end
				method = "HEAD"
			}
			_, header, got := do(p, httptest.NewRequest(method, path, nil))
			want := map[string]string{
				"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
					"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			}
			switch { // what has no payloads may be kept, and a text needs nothing at all
			case strings.Contains(path, ".css"), strings.Contains(path, ".js"), strings.Contains(path, ".svg"):
				want["Cache-Control"] = "private, no-cache"
			case strings.HasPrefix(path, "/text?"):
				want["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'; sandbox"
			}
			for name, value := range want {
				if header.Get(name) != value {
					t.Errorf("%s: %s is %q, want %q", path, name, header.Get(name), value)
				}
			}
			if strings.HasPrefix(header.Get("Content-Type"), "text/html") {
				if bad := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script>|javascript:|(href|src|action)="(/|[a-z]+:)`).FindString(got); bad != "" {
					t.Errorf("%s has %q", path, bad)
				}
			}
		}
	})
}

func TestThePageIsTheSameWhereverItIsMounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Subscribe("printer", Fine)
		p := open(t, f)
		mux := http.NewServeMux()
		mux.Handle("/x/y/", p)
		mux.Handle("/stripped/", http.StripPrefix("/stripped", p))
		mux.Handle("/bare/", http.StripPrefix("/bare/", p))
		want := shows(t, p, "/")
		mounts := []string{"/x/y/", "/stripped/", "/bare/"}
		for _, at := range mounts {
			if got := shows(t, mux, at); got != want {
				t.Errorf("%s: another page:\n%s", at, got)
			}
			if status, _, _ := get(mux, at+"style.css"); status != http.StatusOK {
				t.Errorf("%s: the stylesheet has status %d", at, status)
			}
		}
		for _, at := range mounts {
			status, header, _ := post(mux, at+"pause", formOf(t, want, "pause")...)
			if to := header.Get("Location"); status != http.StatusSeeOther || !strings.HasPrefix(to, "./?done=") {
				t.Errorf("%s: status %d, to %q", at, status, to)
			}
			Must(t, f.File.ResumeSubscription(t.Context(), "printer"))
		}
		if status, header, _ := get(mux, "/x/y"); status/100 != 3 || header.Get("Location") != "/x/y/" {
			t.Errorf("without a slash at the end: status %d, to %q", status, header.Get("Location"))
		}
	})
}

func TestAllAssetsAreSmall(t *testing.T) {
	var all bytes.Buffer
	z := gzip.NewWriter(&all)
	for _, folder := range []string{"assets", "templates"} {
		entries, err := os.ReadDir(folder)
		Must(t, err)
		for _, e := range entries {
			content, err := os.ReadFile(folder + "/" + e.Name())
			Must(t, err)
			z.Write(content)
			if strings.HasSuffix(e.Name(), ".js") && len(content) > 15_000 {
				t.Errorf("%s has %d bytes", e.Name(), len(content))
			}
		}
	}
	Must(t, z.Close())
	if all.Len() > 60_000 {
		t.Errorf("all files together have %d bytes, compressed", all.Len())
	}
}

func TestAClosedPageSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		p := open(t, f)
		Must(t, p.Close())
		Must(t, p.Close())
		if status, _, got := get(p, "/"); status != http.StatusServiceUnavailable || !strings.Contains(got, "This page is closed.") {
			t.Errorf("status %d\n%s", status, got)
		}
	})
}

func TestOptionsThatAreWrongAreRefused(t *testing.T) {
	if _, err := page.New(nil); err == nil {
		t.Error("a page without a file")
	}
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		for what, opt := range map[string]page.Option{"WithActions(nil)": page.WithActions(nil), "nil": nil} {
			if _, err := page.New(f.File, opt); err == nil {
				t.Errorf("%s is taken", what)
			}
		}
	})
}
