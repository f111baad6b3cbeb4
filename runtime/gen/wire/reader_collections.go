package wire

// Enum reads a string, which may be another than those in known. For a known one it does not allocate.
//
//go:noinline
func (r *Reader) Enum(text *string, known ...string) {
	quoted, escaped := r.quoted()
	if escaped {
		*text = r.unescape(quoted)
		return
	}
	for _, value := range known {
		if string(quoted) == value {
			*text = value
			return
		}
	}
	*text = string(quoted)
}

// ReadOptional reads a value, or null as nil.
func ReadOptional[T any](r *Reader, read func() T) *T {
	if r.null() {
		return nil
	}
	value := read()
	return &value
}

// ReadList reads a list, or null as nil. It calls read for each item.
func ReadList[T any](r *Reader, read func() T) []T {
	if r.null() || !r.begin('[') {
		return nil
	}
	list := []T{}
	for r.next('[', ']') {
		list = append(list, read())
	}
	return list
}

// ReadMap reads an object as a map, or null as nil. It calls read for each value. If a
// key occurs twice, the last value counts.
func ReadMap[T any](r *Reader, read func() T) map[string]T {
	return readMap(r, func(*Reader) T { return read() })
}

func readMap[T any](r *Reader, read func(*Reader) T) map[string]T {
	if r.null() || !r.begin('{') {
		return nil
	}
	m := map[string]T{}
	for r.next('{', '}') {
		key := r.String()
		r.expect(':')
		m[key] = read(r)
	}
	return m
}
