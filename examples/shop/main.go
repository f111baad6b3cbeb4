// Command shop is a web shop that lives for a few seconds. It shows what busgen
// does when things go well and when they do not:
//
//	go run ./examples/shop                     one busy second, and what became of it
//	go run ./examples/shop -db x.db -crash     the same, with the plug pulled half-way
//	go run ./examples/shop -db x.db            what is left after that
//	go run ./examples/shop -tune my.yaml       half a minute in which to edit my.yaml, and see retries follow
//	go run ./examples/shop -serve :8080        stays open, with metrics and a page for operators
//
// Read it in this order:
//
//	main.go       the course of the day
//	customers.go  publish, from many goroutines at once
//	handlers.go   subscribe and handle; this is the shop
//	world.go      the bank, the mail provider, the printer: where trouble comes from
//	audit.go      a handler of every event
//	books.go      a handler of batches, and one of a schedule
//	refunds.go    two handlers of a group, and a strict order
//	fulfil.go     a handler that works in steps, waits for a parcel, and undoes what it has done if none comes
//	middleware.go what happens around every handler and before every event is stored
//	dead.go       look at what failed for good, repair the cause, try again
//	tree.go       what came of one order
//	ledger.go     the shop's own tables, in the file of the bus: rows and events in one transaction
//	promises.go   proof that nothing is lost; crash.go: the plug
//	tune.go       settings that follow a file while the shop runs
//	serve.go      metrics for Prometheus, and the page for operators
//	report.go     tables; progress.go: the line that moves
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
	_ "time/tzdata" // the schedule has a time zone, and this machine may know none

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main as a function. It returns the exit status: 0 for a good day, 1 for
// trouble, 2 for a command line that makes no sense, 130 for an interrupt.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	err = oneDay(ctx, o, stdout)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintf(stderr, "\nInterrupted, and shut down cleanly. Nothing is lost; go on with:\n  go run ./examples/shop -db %s\n", o.db)
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "shop:", err)
		return 1
	}
	return 0
}

// oneDay opens the shop, sells, waits until everything is handled, and shows
// what became of it.
func oneDay(ctx context.Context, o options, out io.Writer) (err error) {
	var listener net.Listener
	if o.serve != "" {
		if listener, err = listen(ctx, o.serve); err != nil {
			return err
		}
		defer listener.Close()
	}
	fmt.Fprintf(out, "The shop keeps its orders, its ledger and its events in %s\n", o.db)
	_, statErr := os.Stat(o.db)
	isNew := errors.Is(statErr, os.ErrNotExist)

	// The bus logs one line per failed attempt. Here that is hundreds, so they go
	// to a file and the screen stays readable.
	logFile, err := os.OpenFile(o.db+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close()
	logger := slog.New(slog.NewTextHandler(logFile, nil))

	bus, err := events.Open(ctx, o.db, runtime.WithLogger(logger),
		runtime.WithMiddleware(timed), runtime.WithPublishMiddleware(stamped),
		// What kinds of errors mean is in the catalogue; which errors are of a kind, here.
		runtime.WithErrorClass(events.ErrorRateLimited, runtime.ErrorIs(errRateLimited)),
		runtime.WithErrorClass(events.ErrorTextTooLong, runtime.ErrorAs[*tooLongError]()))
	if err != nil {
		return err
	}
	// Shutdown waits for running handlers, so it must not use a ctx that has ended.
	defer func() { err = errors.Join(err, bus.Shutdown(context.WithoutCancel(ctx))) }()
	if err := makeTables(bus); err != nil {
		return err
	}

	file, err := openFile(o.db)
	if err != nil {
		return err
	}
	defer file.Close()

	promises, err := openPromises(o.db, isNew, file)
	if err != nil {
		return err
	}
	defer promises.Close()

	books, err := openBooks(o.db, isNew)
	if err != nil {
		return err
	}
	defer books.Close()

	s := &shop{bus: bus, promises: promises, ledger: ledger{file}, books: books}
	if o.crash {
		s.bank.plug = &plug{after: max(1, int64(o.orders)/2), db: o.db, promises: promises, out: out}
	}
	if o.tune != "" {
		out = &lockedWriter{Writer: out}
		watcher, err := tune(ctx, bus, o.tune, logger, out)
		if err != nil {
			return err
		}
		defer watcher.Close()
		s.schedule = &schedule{out: out, last: map[uuid.UUID]time.Time{}}
	}
	// Subscribe, then start: what an earlier run left unfinished finds its handlers.
	if err := s.subscribe(); err != nil {
		return err
	}
	if err := bus.Start(ctx); err != nil {
		return err
	}
	if err := s.catchUp(ctx, out); err != nil {
		return err
	}
	if err := s.sell(ctx, o, out); err != nil {
		return err
	}
	printSummary(out, bus.Stats())
	s.audit.print(out)
	s.books.print(out)
	s.notes.print(out)
	if err := promises.prove(ctx, out); err != nil {
		return err
	}
	if err := s.ledger.prove(ctx, len(proofs), out); err != nil {
		return err
	}
	if err := s.lookAfterTheDead(ctx, o.db, out); err != nil {
		return err
	}
	printNextSteps(out, o.db)
	if listener != nil {
		return s.stayOpen(ctx, o, listener, out)
	}
	return nil
}

type options struct {
	db                 string
	orders, publishers int
	crash              bool
	tune, serve        string
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.db, "db", "", "keep orders, ledger and events in `FILE`; without it, in a new file in the temporary folder")
	flags.IntVar(&o.orders, "orders", 500, "sell `N` orders")
	flags.IntVar(&o.publishers, "publishers", 8, "publish from `N` goroutines at once")
	flags.BoolVar(&o.crash, "crash", false, "kill this process half-way through, as a power cut would")
	flags.StringVar(&o.tune, "tune", "", "take the settings of retries from `FILE`, a copy of examples/events.yaml, and follow its edits")
	flags.StringVar(&o.serve, "serve", "", "stay open until Ctrl-C, and serve metrics and the page for operators at `ADDR`, such as :8080 or 127.0.0.1:0, a free port. "+
		"Without a host only this machine can reach it; with one, whoever reaches it sees all events")
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("there is no argument %q; the file is named with -db", flags.Arg(0))
	case o.orders < 1 || o.publishers < 1:
		err = errors.New("-orders and -publishers must be at least 1")
	}
	if err == nil && o.db == "" {
		var folder string
		folder, err = os.MkdirTemp("", "busgen-shop-")
		o.db = filepath.Join(folder, "shop.db")
	}
	if err != nil {
		fmt.Fprintf(stderr, "shop: %v (-h shows the flags)\n", err)
	}
	return o, err
}

const usage = `Usage: go run ./examples/shop [flags]

Sells orders through an event bus for about a second, with handlers that fail now
and then, and shows what became of every event. Run it again on the same file
after -crash, and see that nothing is lost. With -tune it sells for half a minute
and shows when receipts that cannot be sent are tried again. With -serve it stays
open, sells a few orders per second, and serves /metrics and /operators/.

Beside FILE it writes FILE.acked, a list of every order that was acknowledged,
FILE.books, a line for every payment, and FILE.log, what the bus logs.

`
