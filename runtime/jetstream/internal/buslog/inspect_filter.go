package buslog

import "github.com/busgen/busgen/runtime/internal/engine"

// errorsOf returns the errors of all attempts at an event.
func (in *Inspection) errorsOf(r *engine.Record) (texts []string) {
	for _, s := range in.inOrder() {
		if row := s.rows[r.Seq]; row != nil {
			for _, a := range row.Attempts {
				texts = append(texts, a.Error)
			}
		}
	}
	return append(texts, string(r.Metadata))
}
