package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed assets
var assets embed.FS

// asset answers with a file of the folder assets. Browsers keep it, and ask whether it has
// changed.
func asset(name, contentType string) answer {
	return func(w http.ResponseWriter, q *request) error {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
		http.ServeContent(w, q.Request, name, time.Time{}, bytes.NewReader(content))
		return nil
	}
}

// policy lets a page load only its own stylesheet, script, pictures and live data, post only
// to itself, and be in no frame.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets the headers that all answers have. The referrer goes to the page itself only.
// Without any, old browsers would not say where a form comes from.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
