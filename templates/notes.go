package templates

import (
	"strings"

	"github.com/busgen/busgen/internal/catalog"
)

// deprecated returns the paragraph that marks something as deprecated, or
// nothing.
func deprecated(reason catalog.Value[string]) string {
	if !reason.Written() {
		return ""
	}
	return "Deprecated: " + reason.V
}

// ownership returns the paragraph that says who answers for an event and where
// it belongs, or nothing.
func ownership(e *catalog.Event) string {
	var words []string
	if e.Owner.Written() {
		words = append(words, "Owner: "+e.Owner.V+".")
	}
	if len(e.Tags) > 0 {
		var tags []string
		for _, tag := range e.Tags {
			tags = append(tags, tag.V)
		}
		words = append(words, "Tags: "+strings.Join(tags, ", ")+".")
	}
	return strings.Join(words, " ")
}
