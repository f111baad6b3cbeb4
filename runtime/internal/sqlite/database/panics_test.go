package database

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

func connectToNew(t *testing.T) *Conn {
	t.Helper()
	c, err := ConnectBounded(filepath.Join(t.TempDir(), "shop.db"), "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestAStatementThatNeedsTooMuchMemoryIsAnErrorAndTheConnectionGoesOn(t *testing.T) {
	c := connectToNew(t)
	const tooMuch = "SELECT hex(zeroblob(100000000))"
	for what, run := range map[string]func() error{
		"Exec":       func() error { return c.Exec(tooMuch) },
		"ExecScript": func() error { return c.ExecScript(tooMuch) },
		"QueryOnce":  func() error { return c.QueryOnce(tooMuch, func(*sqlite3.Stmt) error { return nil }) },
		"a value":    func() error { return c.Exec("SELECT ?", make([]byte, 200<<20)) },
		"in a transaction": func() error {
			return c.Transaction(true, func() error { return c.Exec(tooMuch) })
		},
	} {
		for range 3 {
			if err := run(); !errors.Is(err, fault.ErrNoMemory) {
				t.Errorf("%s: got %v", what, err)
			}
			if n, err := c.Int64("SELECT 7"); n != 7 || err != nil || !c.GetAutocommit() {
				t.Errorf("after %s the next statement returns %d, %v", what, n, err)
			}
		}
	}
}

func TestAPanicOfOurOwnCodeInTheMiddleOfAStatementGoesOn(t *testing.T) {
	c := connectToNew(t)
	defer func() {
		if cause := recover(); cause != "ours" {
			t.Errorf("it panicked with %v", cause)
		}
		if n, err := c.Int64("SELECT 7"); n != 7 || err != nil {
			t.Errorf("the next statement returns %d, %v", n, err)
		}
	}()
	c.Query("SELECT 1", func(*sqlite3.Stmt) error {
		return c.Query("SELECT 2", func(*sqlite3.Stmt) error { panic("ours") })
	})
}

func TestAConnectionOnWhichTheDriverHasPanickedIsNotUsedAgain(t *testing.T) {
	c := connectToNew(t)
	err := c.Query("SELECT 1", func(s *sqlite3.Stmt) error {
		var none *sqlite3.Stmt
		none.ColumnText(0) // a nil pointer in the code of the driver
		return nil
	})
	for range 2 {
		if !errors.Is(err, errPanicked) || errors.Is(err, fault.ErrNoMemory) {
			t.Fatalf("got %v", err)
		}
		err = c.Exec("SELECT 7")
	}
}

func TestALongValueIsReadInPieces(t *testing.T) {
	c := connectToNew(t)
	text := make([]byte, 300_000)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	if err := c.ExecScript("CREATE TABLE long (value TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec("INSERT INTO long VALUES (?)", string(text)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, pieceBytes, pieceBytes + 1, len(text)} {
		got := make([]byte, n)
		if err := c.Beginning("long", "value", 1, got); err != nil || string(got) != string(text[:n]) {
			t.Errorf("%d bytes: got others, %v", n, err)
		}
	}
	if err := c.Beginning("long", "value", 1, make([]byte, len(text)+1)); err == nil {
		t.Error("it has more bytes than were written")
	}
}
