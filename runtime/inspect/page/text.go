package page

import (
	"net/http"
	"strings"

	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
)

// text returns a whole text that a page has cut.
type text func(q *request) (string, error)

// showText answers with a whole text, byte by byte, which no browser takes for anything
// else.
func showText(w http.ResponseWriter, q *request) error {
	of, ok := wholeTexts[q.URL.Query().Get("of")]
	if !ok {
		return refusal.BadRequest("There is no such text.")
	}
	whole, err := of(q)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	if _, err := strings.NewReader(whole).WriteTo(w); err != nil {
		return errGone
	}
	return nil
}
