package sqlite

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// TestRowsAndSuccessesNeverDiffer handles events whose handlers insert a row with their
// success, on a disk that fails or loses its power, beside publishers and functions that roll
// back all. In the end each event that is stored has one row: a success without its row
// would leave it without, and a row without its success would give it another.
func TestRowsAndSuccessesNeverDiffer(t *testing.T) {
	var total counter
	seeds := make([]uint64, max(1, simRounds.N()/12))
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	simulate(t, seeds, func(s *sim) {
		l := &booker{sim: s, counter: &total, polling: make(chan struct{}, 1)}
		l.polling <- struct{}{}
		image := s.base()
		for range 1 + s.IntN(3) {
			if l.open(image) {
				l.live()
			}
			image = s.fs.Crash(s.Uint64())
			s.abandon()
		}
		if !l.open(image) {
			s.fail("it cannot be opened on a sound disk")
		}
		l.settleAll()
		l.audit()
	})
	t.Cleanup(func() { t.Logf("%v", &total) })
}

// booker is one seed.
type booker struct {
	*sim
	*counter
	consumer engine.Consumer
	polling  chan struct{} // holds a token
}

// open begins a life. It reports false if the disk failed before it could work.
func (l *booker) open(image simfs.Image) bool {
	l.lives++
	l.boot(image)
	var err error
	if l.log, err = Open(l.path, Options{VFS: l.fs.Name()}); err != nil {
		l.log = nil
		return false
	}
	ctx := context.Background()
	if l.log.Declare(ctx, typesNamed("money.moved"), nil) != nil {
		return false
	}
	if _, err := l.log.TakeOver(ctx); err != nil {
		return false
	}
	l.consumer, err = l.log.Consumer(ctx, engine.ConsumerSpec{Name: "ledger", Pattern: "money.*", FromBeginning: true})
	if err != nil {
		return false
	}
	return l.log.Transact(ctx, engine.Transaction{Limit: time.Minute, Run: func(tx engine.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS booked (seq INTEGER NOT NULL); CREATE TABLE IF NOT EXISTS one (id INTEGER PRIMARY KEY); INSERT OR IGNORE INTO one VALUES (1)")
		return err
	}}) == nil
}

// live publishes and handles until the disk has failed, or for a while.
func (l *booker) live() {
	switch l.IntN(3) {
	case 0:
		l.fs.CutAfter(1 + l.IntN(80))
	case 1:
		l.fs.Fail(simfs.Fault{
			Op: simfs.Write | simfs.Sync, Nth: 1 + l.IntN(50), Limit: 1 + l.IntN(3),
			Err: []error{sqlite3.FULL, sqlite3.IOERR_WRITE, sqlite3.IOERR_FSYNC}[l.IntN(3)],
		})
	}
	var wg sync.WaitGroup
	for worker := range 3 {
		seed := l.Uint64()
		wg.Add(2)
		go func() {
			defer wg.Done()
			for range 6 {
				l.log.Append(context.Background(), []engine.Record{{ID: uuid.New(), Type: "money.moved", Payload: []byte("{}"), CreatedAt: time.Now()}})
			}
		}()
		go func() {
			defer wg.Done()
			for n := range uint64(8) {
				l.handle(worker, seed+n*0x9e3779b97f4a7c15)
				time.Sleep(time.Duration(seed>>20%5) * time.Millisecond)
			}
		}()
	}
	wg.Wait()
}

// handle handles one event, in a way that is drawn from a number. It reports false if there
// was none.
func (l *booker) handle(worker int, draw uint64) bool {
	polled, err := l.poll()
	if err != nil || len(polled) == 0 {
		return false
	}
	d, ctx := polled[0], context.Background()
	if n, _, _ := l.consumer.Begin([]*engine.Delivery{d}, []int{worker}, time.Now()); n == 0 {
		return true
	}
	if draw%7 == 0 {
		time.Sleep(10 * time.Millisecond) // long enough for a row of its own
	}
	stored := false
	err = l.log.Transact(ctx, engine.Transaction{
		Limit:  time.Minute,
		Settle: &engine.Settling{Consumer: l.consumer, Delivery: d, Stored: func() { stored = true }},
		Run: func(tx engine.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO booked (seq) VALUES (?)", d.Seq); err != nil {
				return err
			}
			switch draw % 9 {
			case 0:
				return errRefused
			case 1:
				_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO one VALUES (1)")
				return err
			}
			return nil
		},
	})
	if stored != (err == nil) {
		l.Errorf("seed %d: Transact returns %v, and Stored was called: %v", l.seed, err, stored)
	}
	l.consumer.End([]*engine.Delivery{d})
	if draw%5 == 0 {
		time.Sleep(20 * time.Millisecond) // others are written meanwhile, and the power may fail
	}
	if err == nil {
		l.count("handled")
		l.consumer.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Done}}, nil) // which says nothing new
	} else {
		l.count("failed")
		l.consumer.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Retry, Due: time.Now(), Attempt: &event.FailedAttempt{Kind: event.KindError, Started: time.Now(), Ended: time.Now(), Error: "no"}}}, nil)
	}
	return true
}

// poll polls one delivery. SQLite may sleep meanwhile, until the writer is out of its way; and time
// stands still here while somebody waits for a mutex, as that of Poll.
func (l *booker) poll() ([]*engine.Delivery, error) {
	<-l.polling
	defer func() { l.polling <- struct{}{} }()
	polled, _, err := l.consumer.Poll(nil, 1)
	return polled, err
}

// settleAll handles what is left.
func (l *booker) settleAll() {
	for idle, n := 0, 0; idle < 20; idle++ {
		if l.handle(0, 2) {
			idle = 0
			if n++; n > 1000 {
				l.fail("events come again without end")
			}
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
	}
}

func (l *booker) audit() {
	c := l.raw(l.fs)
	defer c.Close()
	for _, row := range l.rows(c, "SELECT l.seq, (SELECT count(*) FROM booked b WHERE b.seq = l.seq) FROM busgen_log l") {
		if row[1] != "1" {
			l.fail("event %s has %s rows, want 1", row[0], row[1])
		}
	}
	if open := l.rows(c, "SELECT seq, state FROM busgen_deliveries"); len(open) > 0 {
		l.fail("open are %v", open)
	}
}
