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
