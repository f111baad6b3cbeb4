package deep

// Pointer returns a pointer to a copy of what p points to, or nil for nil.
func Pointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}

// PointerFunc is Pointer for values that clone copies.
func PointerFunc[T any](p *T, clone func(T) T) *T {
	if p == nil {
		return nil
	}
	value := clone(*p)
	return &value
}

// List returns a copy of list with a copy of each item, or nil for nil.
func List[T any](list []T, clone func(T) T) []T {
	if list == nil {
		return nil
	}
	copied := make([]T, len(list))
	for i := range list {
		copied[i] = clone(list[i])
	}
	return copied
}

// Map returns a copy of m with a copy of each value, or nil for nil.
func Map[T any](m map[string]T, clone func(T) T) map[string]T {
	if m == nil {
		return nil
	}
	copied := make(map[string]T, len(m))
	for key, value := range m {
		copied[key] = clone(value)
	}
	return copied
}
