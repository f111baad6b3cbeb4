package dlq

import (
	"context"
	"encoding/json"
	"io"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Export writes dead letters to w, each as one line of JSON (see [Letter]), those
// that died first first, and returns how many. Nothing is changed. What dies
// while it runs may be missing.
func (i *Inspector) Export(ctx context.Context, w io.Writer, f Filter) (n int, err error) {
	filter, err := f.stored()
	if err != nil {
		return 0, err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	page := sqlite.LetterPage{OldestFirst: true, Limit: stepLetters}
	for {
		var found []sqlite.DeadLetter
		err := i.use(func(d *sqlite.DeadLetters) (err error) {
			found, err = d.List(ctx, filter, page)
			return err
		})
		if err != nil {
			return n, err
		}
		for _, one := range found {
			if err := encoder.Encode(letterOf(one)); err != nil {
				return n, err
			}
			n++
		}
		if len(found) < page.Limit {
			return n, nil
		}
		page.After = found[len(found)-1].Mark
	}
}
