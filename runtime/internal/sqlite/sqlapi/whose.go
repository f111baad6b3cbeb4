package sqlapi

import (
	"database/sql/driver"
	"reflect"

	"github.com/ncruces/go-sqlite3"
)

// Whose asks what a transaction of database/sql runs on, which shows nothing of itself. As the
// value of a parameter, wrapped by [sqlite3.Pointer], it is NULL: to the driver's own package
// as well. A driver of another library refuses it.
type Whose struct{ Conn *Conn }

var pointerType = reflect.TypeOf(sqlite3.Pointer(nil))

// recognise answers a Whose. Other values are not for this package.
func (s *Session) recognise(value *driver.NamedValue) error {
	if reflect.TypeOf(value.Value) == pointerType {
		if whose, ok := reflect.ValueOf(value.Value).Field(0).Interface().(*Whose); ok {
			whose.Conn = s.own
			value.Value = nil
			return nil
		}
	}
	return driver.ErrSkip
}
