// Command child stores orders and their events in the file of a bus, by the view outbox, with the
// driver that its first argument names. It takes back every third. Of each other it prints the
// number, and when it was committed.
package main

import (
	"database/sql"
	"fmt"
	"log"
	"net/url"
	"os"
	"strconv"
	"time"

	_ "github.com/mattn/go-sqlite3"
	_ "modernc.org/sqlite"
)

func main() {
	log.SetFlags(0)
	driver, path := os.Args[1], os.Args[2]
	orders, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	settings := map[string]string{
		"sqlite3": "_busy_timeout=10000&_txlock=immediate",
		"sqlite":  "_pragma=busy_timeout(10000)&_txlock=immediate",
	}
	db, err := sql.Open(driver, (&url.URL{Scheme: "file", Path: path, RawQuery: settings[driver]}).String())
	if err != nil {
		log.Fatal(err)
	}
	for n := range orders {
		if err := place(db, n); err != nil {
			log.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // as between orders
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
}

// place stores an order with its event.
func place(db *sql.DB, n int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO orders (number) VALUES (?)", n); err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT INTO outbox (type, payload) VALUES ('order.placed', json_object('number', ?))", n); err != nil {
		return err
	}
	if n%3 == 2 {
		return nil
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	fmt.Println(n, time.Now().UnixNano())
	return nil
}
