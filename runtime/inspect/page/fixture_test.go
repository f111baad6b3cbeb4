package page_test

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"

	"github.com/busgen/busgen/runtime/inspect/page"
)

// open makes the page of a bus, on which ada may act.
func open(t *testing.T, f *Fixture) *page.Page {
	t.Helper()
	return pageOf(t, f, page.WithActions(func(*http.Request) (string, bool) { return "ada", true }))
}

// pageOf makes the page of a bus.
func pageOf(t *testing.T, f *Fixture, opts ...page.Option) *page.Page {
	t.Helper()
	p, err := page.New(f.File, opts...)
	Must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// get asks a handler for a page, and returns status, header and text.
func get(h http.Handler, path string) (int, http.Header, string) {
	return do(h, httptest.NewRequest("GET", path, nil))
}

// post sends a form as the page itself does in a browser.
func post(h http.Handler, path string, fields ...string) (int, http.Header, string) {
	return do(h, form(path, fields...))
}

// form makes the request of a form: name, value, …
func form(path string, fields ...string) *http.Request {
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func do(h http.Handler, r *http.Request) (int, http.Header, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, _ := io.ReadAll(w.Result().Body)
	return w.Code, w.Header(), string(text)
}

// shows wants a page with these texts.
func shows(t *testing.T, h http.Handler, path string, texts ...string) string {
	t.Helper()
	status, _, got := get(h, path)
	if status != http.StatusOK {
		t.Errorf("%s: status %d", path, status)
	}
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%s lacks %q:\n%s", path, text, got)
		}
	}
	return got
}

// formOf returns the fields of the form of an action on a page: name, value, …
func formOf(t *testing.T, page, action string) (fields []string) {
	t.Helper()
	_, rest, found := strings.Cut(page, `action="./`+action+`"`)
	if !found {
		t.Fatalf("the page has no form %s:\n%s", action, page)
	}
	rest, _, _ = strings.Cut(rest, "</form>")
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(rest, -1) {
		fields = append(fields, m[1], html.UnescapeString(m[2]))
	}
	return fields
}
