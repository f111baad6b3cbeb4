package runtime

import (
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

func (t *eventType) private() *privacy.Shape { return t.privacy() }

// shown returns a text about a delivery without the values of its payload that the
// catalogue calls sensitive. Logs show errors in this form. Stored attempts have them as
// they are, and package inspect hides the values.
func (b *innerBus) shown(d *engine.Delivery, text string) string {
	name, notice := strings.CutPrefix(d.Type, engine.DeadType(""))
	t := b.catalogue.named[name]
	if t == nil || !typeOf(t).private().Sensitive() {
		return text
	}
	if notice {
		_, veil := typeOf(t).private().HideNotice(d.Payload)
		return veil.Text(text)
	}
	_, veil := typeOf(t).private().Hide(max(d.Version, 1), d.Payload)
	return veil.Text(text)
}

// hiddenError returns an error about a payload whose text has no sensitive values.
func hiddenError(shape *privacy.Shape, version int, payload []byte, err error) error {
	if !shape.Sensitive() {
		return err
	}
	_, veil := shape.Hide(version, payload)
	text := err.Error()
	if clean := veil.Text(text); clean != text {
		return &quietError{text: clean, err: err}
	}
	return err
}

// quietError is an error with another text.
type quietError struct {
	text string
	err  error
}

// Error returns the text.
func (e *quietError) Error() string { return e.text }

// Unwrap returns the error.
func (e *quietError) Unwrap() error { return e.err }
