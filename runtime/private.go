package runtime

import (
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/privacy"
)

func (t *eventType) private() *privacy.Shape { return t.privacy() }

// shown returns a text about a delivery without the values of its payload that the
// catalogue calls sensitive. Logs show errors in this form. Stored attempts have them as
// they are, and package inspect hides the values.
func (b *innerBus) shown(d *engine.Delivery, text string) string {
	of, hide := privacy.Carried(d.Type, d.Payload)
	t := b.catalogue.named[of]
	if t == nil || !typeOf(t).private().Sensitive() {
		return text
	}
	_, veil := hide(typeOf(t).private(), max(d.Version, 1), d.Payload)
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
