package sqlapi

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// The types of what sqlite3.JSON and sqlite3.Pointer return have no names outside of the driver.
var (
	typeOfJSON    = reflect.TypeOf(sqlite3.JSON(nil))
	typeOfPointer = pointerType
)

// within returns the value that JSON or Pointer was given.
func within(value any) any { return reflect.ValueOf(value).FieldByName("Value").Interface() }

// pointer is a value for functions that the program has given to SQLite. To all others it is NULL.
type pointer struct{ value any }

// check lets pass what bind takes. For the rest database/sql has rules: it asks a
// [driver.Valuer], and turns numbers into int64 and float64.
func (s *Session) check(value *driver.NamedValue) error {
	switch value.Value.(type) {
	case nil, bool, int, int64, float64, string, []byte, time.Time, sqlite3.ZeroBlob:
		return nil
	}
	switch reflect.TypeOf(value.Value) {
	case typeOfJSON:
		text, err := json.Marshal(within(value.Value))
		value.Value = string(text)
		return err
	case typeOfPointer:
		if s.recognise(value) == nil {
			return nil
		}
		value.Value = pointer{within(value.Value)}
		return nil
	}
	return driver.ErrSkip
}

// IsPlain tells whether all values can be stored as they are, by their place. Others need
// database/sql: it asks a [driver.Valuer], and turns numbers into int64 and float64.
func IsPlain(args []any) bool {
	for _, arg := range args {
		switch arg.(type) {
		case nil, bool, int, int64, float64, string, []byte, time.Time:
		default:
			return false
		}
	}
	return true
}

// numbered gives values the numbers of their places.
func numbered[T any](args []T) []driver.NamedValue {
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}

// inputs returns how many values a statement takes; -1 if database/sql cannot count them,
// because they have names.
func inputs(s *sqlite3.Stmt) int {
	n := s.BindCount()
	for i := 1; i <= n; i++ {
		if s.BindName(i) != "" {
			return -1
		}
	}
	return n
}

// bindAll gives a statement its values. Each parameter needs one.
func bindAll(s *sqlite3.Stmt, args []driver.NamedValue) error {
	n := s.BindCount()
	if len(args) == n && !slices.ContainsFunc(args, func(arg driver.NamedValue) bool { return arg.Name != "" }) {
		for _, arg := range args {
			if err := bind(s, arg.Ordinal, arg.Value); err != nil {
				return err
			}
		}
		return nil
	}
	bound := make([]bool, n+1)
	for _, arg := range args {
		for _, i := range places(s, arg) {
			if i < 1 || i > n {
				return fmt.Errorf("value %d is one too many: the statement takes %d", i, n)
			}
			if err := bind(s, i, arg.Value); err != nil {
				return err
			}
			bound[i] = true
		}
	}
	for i := 1; i <= n; i++ {
		if bound[i] {
			continue
		}
		if name := s.BindName(i); name != "" {
			return fmt.Errorf("there is no value for %s", name)
		}
		return fmt.Errorf("there is no value for parameter %d of %d", i, n)
	}
	return nil
}

// bindPlain gives a statement values that IsPlain is true for. Each parameter needs one.
func bindPlain(s *sqlite3.Stmt, args []any) error {
	if len(args) != s.BindCount() {
		return bindAll(s, numbered(args)) // which says what is wrong
	}
	for i, arg := range args {
		if err := bind(s, i+1, arg); err != nil {
			return err
		}
	}
	return nil
}

// places returns the parameters that a value is for.
func places(s *sqlite3.Stmt, arg driver.NamedValue) (found []int) {
	if arg.Name == "" {
		return []int{arg.Ordinal}
	}
	for _, prefix := range []string{":", "@", "$"} {
		if i := s.BindIndex(prefix + arg.Name); i != 0 {
			found = append(found, i)
		}
	}
	return found
}

func bind(s *sqlite3.Stmt, i int, value any) error {
	switch v := value.(type) {
	case nil:
		return s.BindNull(i)
	case bool:
		return s.BindBool(i, v)
	case int:
		return s.BindInt(i, v)
	case int64:
		return s.BindInt64(i, v)
	case float64:
		return s.BindFloat(i, v)
	case string:
		return s.BindText(i, v)
	case []byte:
		if v == nil {
			return s.BindNull(i)
		}
		return s.BindBlob(i, v)
	case time.Time:
		return s.BindTime(i, v, sqlite3.TimeFormatDefault)
	case sqlite3.ZeroBlob:
		return s.BindZeroBlob(i, int64(v))
	case pointer:
		return s.BindPointer(i, v.value)
	}
	return fmt.Errorf("value %d is a %T, which SQLite cannot store", i, value)
}

// result is what a statement has done.
type result struct{ id, rows int64 }

// LastInsertId returns the rowid of the last row that was inserted, 0 if none was.
func (r result) LastInsertId() (int64, error) { return r.id, nil }

// RowsAffected returns how many rows were changed.
func (r result) RowsAffected() (int64, error) { return r.rows, nil }

// result returns what a statement has done, before which the connection had changed so many
// rows. SQLite says what the last one did that could change any.
func (s *Shared) result(before int64) (r result) {
	if s.conn.TotalChanges() != before {
		r = result{rows: s.conn.Changes()}
	}
	if r.rows != 0 {
		r.id = s.conn.LastInsertRowID()
	}
	return r
}
