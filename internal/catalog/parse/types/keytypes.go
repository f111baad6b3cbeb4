package types

import "github.com/busgen/busgen/internal/catalog"

// KeyTypes is the hint for a key of another type.
const KeyTypes = "choose a field of type string, bool, int, int32, int64, uint64, uuid or an enum"

// CanBeKey tells whether equal values of a type have equal texts.
func CanBeKey(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.String, catalog.Bool, catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.UUID:
		return true
	case catalog.Named:
		return t.Named.IsEnum()
	}
	return false
}

// Lack says why a field may have no value.
func Lack(t *catalog.TypeRef) string {
	if t.Nullable {
		return "can be null"
	}
	return "is optional"
}
