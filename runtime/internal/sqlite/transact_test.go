package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// TestMoneyIsNeitherMadeNorLost moves money between accounts, from many goroutines at once,
// on a disk that fails or loses its power at some moment. Some of the functions do wrong.
// After each life it checks that
//
//   - the sum of all accounts is what it was;
//   - every transfer that was acknowledged is there, and none that was refused by itself;
//   - each transfer has its event, and each event its transfer;
//   - SQLite finds nothing wrong with the file.
func TestMoneyIsNeitherMadeNorLost(t *testing.T) {
	seeds := make([]uint64, max(1, simRounds.N()/12))
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	var acknowledged, refused atomic.Int64
	t.Cleanup(func() {
		if *simSeed == 0 && !t.Failed() && (acknowledged.Load() == 0 || refused.Load() == 0) { // else there was nothing to look at
			t.Errorf("%d transfers were acknowledged and %d refused", acknowledged.Load(), refused.Load())
		}
	})
	simulate(t, seeds, func(s *sim) {
		b := &bank{sim: s, acknowledged: map[int]bool{}, refused: map[int]bool{}}
		image := s.base()
		for range 1 + s.IntN(3) {
			b.open(image)
			if b.found() {
				b.live()
			}
			image = s.fs.Crash(s.Uint64())
			s.abandon()
		}
		b.open(image)
		b.audit()
		acknowledged.Add(int64(len(b.acknowledged)))
		refused.Add(int64(len(b.refused)))
	})
}

// accounts is how many accounts a bank has, with 100 each.
const accounts = 6

// bank is the model of one seed.
type bank struct {
	*sim
	mu           sync.Mutex
	transfers    int
	acknowledged map[int]bool
	refused      map[int]bool
}

// open begins a life with what a disk holds.
func (b *bank) open(image simfs.Image) {
	b.lives++
	b.boot(image)
	log, err := Open(b.path, Options{VFS: b.fs.Name()})
	b.must(err)
	b.log = log
}

// found makes the accounts. It reports false if the power was cut before that.
func (b *bank) found() bool {
	b.audit()
	return b.log.Transact(context.Background(), engine.Transaction{Limit: time.Minute, Run: func(tx engine.Tx) error {
		_, err := tx.ExecContext(context.Background(), `
			CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0));
			CREATE TABLE IF NOT EXISTS transfer (id INTEGER PRIMARY KEY, source INTEGER, target INTEGER, amount INTEGER)`)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(context.Background(), `
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?)
			INSERT OR IGNORE INTO account SELECT i, 100 FROM n`, accounts)
		return err
	}}) == nil
}

// live moves money until the disk has failed, or enough was moved.
func (b *bank) live() {
	switch b.IntN(3) {
	case 0:
		b.fs.CutAfter(1 + b.IntN(60))
	case 1:
		b.fs.Fail(simfs.Fault{
			Op: simfs.Write | simfs.Sync, Nth: 1 + b.IntN(40), Limit: 1 + b.IntN(3),
			Err: []error{sqlite3.FULL, sqlite3.IOERR_WRITE, sqlite3.IOERR_FSYNC}[b.IntN(3)],
		})
	}
	var wg sync.WaitGroup
	for range 5 {
		seed := b.Uint64()
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range uint64(6) {
				b.transfer(seed + n*0x9e3779b97f4a7c15)
			}
		}()
	}
	wg.Wait()
}

var errRefused = errors.New("refused")

// transfer is one transaction, whose doings are drawn from a number.
func (b *bank) transfer(draw uint64) {
	b.mu.Lock()
	b.transfers++
	id := b.transfers
	b.mu.Unlock()
	source, target, amount := 1+int(draw>>8%accounts), 1+int(draw>>16%accounts), int(draw>>24%60)
	ctx := context.Background()
	err := b.log.Transact(ctx, engine.Transaction{Limit: time.Minute, Run: func(tx engine.Tx) error {
		record := engine.Record{ID: uuid.New(), Type: "money.moved", Payload: fmt.Appendf(nil, "%d", id), CreatedAt: time.Now()}
		if err := tx.Append([]engine.Record{record}); err != nil {
			return err
		}
		for _, side := range []struct{ account, amount int }{{target, amount}, {source, -amount}} {
			if _, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance + ? WHERE id = ?", side.amount, side.account); err != nil {
				return err
			}
			if draw%16 == 0 {
				return errRefused // half of it is done
			}
		}
		if draw%16 == 1 {
			_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO account VALUES (1, 1)")
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO transfer VALUES (?, ?, ?, ?)", id, source, target, amount)
		return err
	}})
	b.mu.Lock()
	defer b.mu.Unlock()
	var storage *event.StorageError
	switch {
	case err == nil:
		b.acknowledged[id] = true
	case err == errRefused, errors.Is(err, sqlite3.CONSTRAINT), errors.As(err, &storage) && !storage.InDoubt && !b.fs.Dead():
		b.refused[id] = true
	}
}

// audit checks what the file says.
func (b *bank) audit() {
	b.Helper()
	var transfers, events []int
	sum := 0
	err := b.log.read(func(c *database.Conn) error {
		there, err := c.Int64("SELECT count(*) FROM sqlite_schema WHERE name = 'account'")
		if err != nil || there == 0 {
			sum = -1
			return err
		}
		total, err := c.Int64("SELECT sum(balance) FROM account")
		sum = int(total)
		if err != nil {
			return err
		}
		if total == 0 { // made, and not filled
			sum = -1
		}
		if err := c.Query("SELECT id FROM transfer ORDER BY id", func(s *sqlite3.Stmt) error {
			transfers = append(transfers, s.ColumnInt(0))
			return nil
		}); err != nil {
			return err
		}
		err = c.Query("SELECT CAST(payload AS INTEGER) FROM busgen_log ORDER BY 1", func(s *sqlite3.Stmt) error {
			events = append(events, s.ColumnInt(0))
			return nil
		})
		if err != nil {
			return err
		}
		return c.Query("PRAGMA integrity_check", func(s *sqlite3.Stmt) error {
			if text := s.ColumnText(0); text != "ok" {
				return errors.New(text)
			}
			return nil
		})
	})
	if err != nil {
		b.Fatalf("seed %d, life %d: %v", b.seed, b.lives, err)
	}
	if sum >= 0 && sum != 100*accounts {
		b.Errorf("seed %d, life %d: the accounts have %d, want %d", b.seed, b.lives, sum, 100*accounts)
	}
	if !slices.Equal(transfers, events) {
		b.Errorf("seed %d, life %d: the transfers are %v, and the events %v", b.seed, b.lives, transfers, events)
	}
	for id := range b.acknowledged {
		if !slices.Contains(transfers, id) {
			b.Errorf("seed %d, life %d: transfer %d was acknowledged, and is lost", b.seed, b.lives, id)
		}
	}
	for id := range b.refused {
		if slices.Contains(transfers, id) {
			b.Errorf("seed %d, life %d: transfer %d was refused, and is there", b.seed, b.lives, id)
		}
	}
}
