package localhost_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli/localhost"
)

// inside is what the door leads to.
var inside = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "inside "+r.URL.Path) })

// visit asks for a path of a host.
func visit(d *localhost.Door, host, path string, cookies ...*http.Cookie) *http.Response {
	return request(d, "GET", host, path, cookies...)
}

func request(d *localhost.Door, method, host, path string, cookies ...*http.Cookie) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result()
}

func newDoor() (d *localhost.Door, address, folder string) {
	d = localhost.NewDoor(inside, localhost.LoopbackHosts()...)
	folder, _, _ = strings.Cut(d.Path(), "?")
	return d, d.Path(), folder
}

func TestTheTokenOpensTheDoorForOneBrowser(t *testing.T) {
	d, address, folder := newDoor()
	if got := visit(d, "127.0.0.1:4", folder+"problems"); got.StatusCode != http.StatusForbidden {
		t.Errorf("without a token: %s", got.Status)
	}
	if got := visit(d, "127.0.0.1:4", folder+"?token=wrong"); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
		t.Errorf("with a wrong token: %s", got.Status)
	}
	first := visit(d, "127.0.0.1:4", address)
	if first.StatusCode != http.StatusOK || len(first.Cookies()) != 1 {
		t.Fatalf("with the token: %s", first.Status)
	}
	cookie := first.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != folder || strings.Contains(address, cookie.Value) {
		t.Errorf("the cookie is %v", cookie)
	}
	got := visit(d, "127.0.0.1:4", folder+"problems", cookie)
	if text, _ := io.ReadAll(got.Body); string(text) != "inside /problems" {
		t.Errorf("with the cookie: %s %q", got.Status, text)
	}
	if got := visit(d, "127.0.0.1:4", address); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
		t.Errorf("the token, once more: %s", got.Status)
	}
	if got := visit(d, "127.0.0.1:4", folder+"?token=", &http.Cookie{Name: cookie.Name, Value: ""}); got.StatusCode != http.StatusForbidden {
		t.Errorf("an empty token: %s", got.Status)
	}
	if got := visit(d, "127.0.0.1:4", address, cookie); got.StatusCode != http.StatusOK {
		t.Errorf("who is inside opens the address again: %s", got.Status)
	}
	if got := visit(d, "127.0.0.1:4", folder, &http.Cookie{Name: cookie.Name, Value: "x"}, cookie); got.StatusCode != http.StatusOK {
		t.Errorf("with a cookie of an earlier run beside it: %s", got.Status)
	}
}

func TestAHostThatIsNotThisMachineIsRefused(t *testing.T) {
	d, address, folder := newDoor()
	for _, host := range []string{"evil.example", "evil.example:4", "127.0.0.1.evil.example:4", "localhost.evil.example", "", "10.0.0.1:4", "[::2]:4", "localhost@evil.example"} {
		if got := visit(d, host, address); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 {
			t.Errorf("%q: %s", host, got.Status)
		}
	}
	cookie := visit(d, "localhost:4", address).Cookies()[0]
	for _, host := range []string{"localhost:4", "LOCALHOST", "127.0.0.1:8080", "[::1]:4", "[::1]"} {
		if got := visit(d, host, folder, cookie); got.StatusCode != http.StatusOK {
			t.Errorf("%q: %s", host, got.Status)
		}
	}
	if got := visit(d, "evil.example:4", folder, cookie); got.StatusCode != http.StatusForbidden {
		t.Errorf("a site with the cookie: %s", got.Status)
	}
	if got := visit(d, "localhost:4", "/", cookie); got.StatusCode != http.StatusForbidden {
		t.Errorf("another folder: %s", got.Status)
	}
}

func TestOnlyAGETUsesTheTokenUp(t *testing.T) {
	d, address, folder := newDoor()
	for method, want := range map[string]int{"HEAD": http.StatusOK, "OPTIONS": http.StatusMethodNotAllowed, "POST": http.StatusMethodNotAllowed} {
		if got := request(d, method, "localhost:4", address); got.StatusCode != want || len(got.Cookies()) > 0 {
			t.Errorf("%s: %s, with the cookies %v", method, got.Status, got.Cookies())
		}
		if got := request(d, method, "localhost:4", folder+"?token=wrong"); got.StatusCode != http.StatusForbidden {
			t.Errorf("%s with a wrong token: %s", method, got.Status)
		}
	}
	if got := visit(d, "localhost:4", address); got.StatusCode != http.StatusOK || len(got.Cookies()) != 1 {
		t.Errorf("GET after the others: %s", got.Status)
	}
	if got := request(d, "HEAD", "localhost:4", address); got.StatusCode != http.StatusForbidden {
		t.Errorf("HEAD when the token was used: %s", got.Status)
	}
}
