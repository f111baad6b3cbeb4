package setting

import "reflect"

// Fields finds the plain settings in the structs of type S, by the names of their fields.
type Fields[S any] struct{ at []int }

// FieldsOf returns the fields of S. S need not have all.
func FieldsOf[S any]() Fields[S] {
	var f Fields[S]
	for _, r := range Plain {
		at := -1
		if field, ok := reflect.TypeFor[S]().FieldByName(r.Go); ok {
			at = field.Index[0]
		}
		f.at = append(f.at, at)
	}
	return f
}

// In returns a pointer to the field of Plain[i], or nil.
func (f Fields[S]) In(s *S, i int) any {
	if f.at[i] < 0 {
		return nil
	}
	return reflect.ValueOf(s).Elem().Field(f.at[i]).Addr().Interface()
}

// Get returns the number in the field of Plain[i]. A field that is a pointer may be not set.
func (f Fields[S]) Get(s *S, i int) (n int64, set bool) { return Get(f.In(s, i)) }

// Put puts a number into the field of Plain[i], if S has it.
func (f Fields[S]) Put(s *S, i int, n int64) { Put(f.In(s, i), n) }

// Get returns the number in what field points to, or in what that points to.
func Get(field any) (n int64, set bool) {
	if field == nil {
		return 0, false
	}
	v := reflect.ValueOf(field).Elem()
	if v.Kind() == reflect.Pointer {
		if v = v.Elem(); !v.IsValid() {
			return 0, false
		}
	}
	if v.Kind() != reflect.Bool {
		return v.Int(), true
	}
	if v.Bool() {
		n = 1
	}
	return n, true
}

// Put puts a number into what field points to; nil for nothing.
func Put(field any, n int64) {
	if field == nil {
		return
	}
	v := reflect.ValueOf(field).Elem()
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() == reflect.Bool {
		v.SetBool(n != 0)
	} else {
		v.SetInt(n)
	}
}
