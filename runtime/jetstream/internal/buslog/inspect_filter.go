package buslog

import "github.com/busgen/busgen/runtime/internal/engine"

// errorsOf returns the errors of all attempts at an event.
func (l *Log) errorsOf(r *engine.Record) (texts []string) {
	for _, s := range l.inOrder() {
		if row := s.rows[r.Seq]; row != nil {
			for _, a := range row.Attempts {
				texts = append(texts, a.Error)
			}
		}
	}
	return append(texts, string(r.Metadata))
}
