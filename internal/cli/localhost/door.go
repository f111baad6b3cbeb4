// Package localhost serves a page to one user of this machine.
//
// Every process of a machine, and every site that a browser on it shows, can send requests to a
// port of localhost. A [Door] stands before the page and lets in only the browser that was
// given the address, which has a token that works once.
package localhost

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Door is a handler before another one. It refuses
//
//   - requests for a host that is not one of its own, as the browser sends after a site has
//     made its name lead to this machine (DNS rebinding);
//   - requests without its cookie, which a browser gets for the token in the address. The
//     token works once: the address is of no use to a later reader. Only GET takes it, so
//     that a program which asks with HEAD whether the address works leaves it to the browser.
//
// The page is below a folder with a random name, and so is the cookie, because browsers send
// cookies of localhost to all of its ports.
type Door struct {
	next   http.Handler
	hosts  []string
	folder string // /name/
	cookie string // its value

	mu    sync.Mutex
	token string // empty when it was used
}

// LoopbackHosts are the names of this machine. No site can have one of these.
func LoopbackHosts() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// NewDoor makes a door for these hosts, without ports: a tunnel may have another one.
func NewDoor(next http.Handler, hosts ...string) *Door {
	return &Door{next: next, hosts: hosts, folder: "/" + rand.Text()[:8] + "/", cookie: rand.Text(), token: rand.Text()}
}

// Path returns what the address is behind its host, with the token.
func (d *Door) Path() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.folder + "?token=" + d.token
}

const cookieName = "busgen-inspect"

// ServeHTTP implements [http.Handler].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !d.isOurs(r.Host):
		refuse(w, "This address is for localhost only.")
	case !strings.HasPrefix(r.URL.Path, d.folder):
		refuse(w, "Open the address that busgen inspect has printed.")
	case r.URL.Query().Has("token"):
		d.exchange(w, r)
	case !d.has(r):
		refuse(w, "Open the address that busgen inspect has printed. It works once, in one browser.")
	default:
		http.StripPrefix(strings.TrimSuffix(d.folder, "/"), d.next).ServeHTTP(w, r)
	}
}

// isOurs tells whether a host, with or without a port, is one of the door's.
func (d *Door) isOurs(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return slices.ContainsFunc(d.hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

func (d *Door) has(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookieName) {
		if same(c.Value, d.cookie) {
			return true
		}
	}
	return false
}

// exchange gives the cookie for the token. It answers with a page that goes on by itself: after
// a redirect, a browser that came from another site would not send the cookie.
func (d *Door) exchange(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	switch {
	case r.Method != http.MethodGet: // it looks whether the address works, and does not open it
		if !d.has(r) && !d.fits(token) {
			refuse(w, used)
			return
		}
		secure(w.Header())
		w.Header().Set("Allow", http.MethodGet)
		if r.Method != http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return
	case !d.has(r) && !d.use(token):
		refuse(w, used)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: d.cookie, Path: d.folder, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	secure(w.Header())
	fmt.Fprintf(w, "<!DOCTYPE html>\n<html lang=\"en\"><title>busgen inspect</title><meta http-equiv=\"refresh\" content=\"0; url=%s\"><p><a href=\"%[1]s\">Go on</a></p></html>\n",
		html.EscapeString(d.folder))
}

const used = "This address was opened before, or is wrong. It works once: start busgen inspect again."

// use takes the token, if it is right.
func (d *Door) use(token string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.unused(token) {
		return false
	}
	d.token = ""
	return true
}

// fits reports whether use would take the token.
func (d *Door) fits(token string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unused(token)
}

func (d *Door) unused(token string) bool { return d.token != "" && same(token, d.token) }

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func refuse(w http.ResponseWriter, text string) {
	secure(w.Header())
	http.Error(w, text, http.StatusForbidden)
}

func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
