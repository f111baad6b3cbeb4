package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing/fstest"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// The tables of the program are made when the bus opens the file.
func ExampleWithMigrations() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	migrations := fstest.MapFS{ // a program embeds a folder
		"0001_ledger.sql":   {Data: []byte("CREATE TABLE ledger (reference TEXT PRIMARY KEY, amount INTEGER NOT NULL)")},
		"0002_currency.sql": {Data: []byte("ALTER TABLE ledger ADD COLUMN currency TEXT NOT NULL DEFAULT 'EUR'")},
	}
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithMigrations(migrations), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	var currency string
	err = runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
		return tx.QueryRowContext(ctx, "INSERT INTO ledger (reference, amount) VALUES ('R1', 100) RETURNING currency").Scan(&currency)
	})
	fmt.Println(currency, err)
	// Output: EUR <nil>
}
