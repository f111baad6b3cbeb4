package deep

// EqualPointers reports whether a and b are both nil or point to equal values.
func EqualPointers[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// EqualPointersFunc is EqualPointers for values that equal compares.
func EqualPointersFunc[T any](a, b *T, equal func(T, T) bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equal(*a, *b)
}
