package catalog

import "regexp"

// What names of the language look like. The names of events are those of [glob.ValidName].
var (
	FieldName   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	TypeName    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	SchemaName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`) // a key under components of AsyncAPI and OpenAPI
	VariantName = regexp.MustCompile(`^[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*$`)
	TagName     = regexp.MustCompile(`^[a-z0-9]+([-_.][a-z0-9]+)*$`)
	// SubscriptionName matches fewer names than the runtime accepts: a name must make a Go constant, and be the
	// same text wherever a person types it. A name has at most [format.MaxSubscriptionName] bytes.
	SubscriptionName = regexp.MustCompile(`^[a-z][a-z0-9]*([-_.][a-z0-9]+)*$`)
)
