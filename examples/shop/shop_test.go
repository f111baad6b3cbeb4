package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/uuid"
)

// asShop makes the test binary behave as the shop, so that a test can crash it.
const asShop = "BUSGEN_TEST_AS_SHOP"

func TestMain(m *testing.M) {
	if os.Getenv(asShop) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestEveryOrderIsHandledOrDeadAndOneIsRetried(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "shop.db")
	out := openShop(t, 0, "-db", db, "-orders", "100", "-publishers", "16")

	// Of orders 1 to 100 the bank's line drops for ten, the bank declines two
	// (21 and 61), two receipts cannot be sent (25 and 75), and one gift card
	// has no text (37). Each order is for four subscriptions. Ten customers have two coupons
	// each, and the first note of each cannot be sent at once.
	wantRow(t, out, "order.placed", 100, 4*100-3, 10*2+(2+1)*2, 3)
	wantRow(t, out, "order.shipped", 98+2, 98+2, 0, 0)
	wantRow(t, out, "order.cancelled", 2, 2, 0, 0)
	wantRow(t, out, "payment.captured", 98, 3*98, 0, 0)
	wantRow(t, out, "payment.declined", 2, 2*2, 0, 0)
	wantRow(t, out, "user.registered", 20, 20, 0, 0)
	wantRow(t, out, "charge-card", 100, 20, 0)
	wantRow(t, out, "send-receipt", 98, 4, 2)
	wantRow(t, out, "keep-books", 98, 0, 0)
	wantRow(t, out, "payment.refunded", 20, 5*20, 10, 0)
	wantRow(t, out, "post-refund", 20, 0, 0)
	wantRow(t, out, "write-credit-note", 20, 0, 0)
	wantRow(t, out, "send-credit-note", 20, 10, 0)
	wantRow(t, out, "order.backordered", 2, 3*2, 0, 0)
	wantRow(t, out, "parcel.scanned", 2, 2, 0, 0)
	wantRow(t, out, "fulfil", 2, 0, 0)
	wantText(t, out, "20 credit notes were written, and 20 sent.")
	wantText(t, out, "The books have 98 payments.")
	if lines, batches := 98, number(t, out, `(\d+) batches were written`); batches < 1 || batches >= lines {
		t.Errorf("%d payments were written in %d batches", lines, batches)
	}
	wantRow(t, out, "print-gift-card", 99, 2, 1)
	wantRow(t, out, "audit", 100+98+2+98+2+20+98+20+3*2, 0, 0) // 98 are questions who fetches a parcel, and the last are back-orders
	wantText(t, out, "The audit saw 100 orders")
	wantText(t, out, "All 100 acknowledged orders are there.\nThe tables and the events agree: 100 orders, 98 charges, 20 refunds.\n")
	wantText(t, out, "3 dead letters, newest first")
	wantText(t, out, "panic: runtime error: invalid memory address or nil pointer dereference at handlers.go:")

	wantText(t, out, `for send-receipt … handled.`)
	wantText(t, out, `Its status is "done" now; 2 dead letters remain.`)
	wantText(t, out, "This is what came of the order:\n  order.placed\n    audit done\n")
	wantText(t, out, "    send-receipt done after 3 failed attempts\n    payment.captured\n")
	if got := query(t, db, "SELECT count(*) FROM dead_letters WHERE subscription = 'send-receipt'"); got != 1 {
		t.Errorf("%d receipts are dead after one of two was retried, want 1", got)
	}
	if got := query(t, db, "SELECT count(*) FROM reservations"); got != 2 {
		t.Errorf("%d articles are reserved, want 2", got)
	}
	if got := query(t, db, "SELECT count(*) FROM events WHERE status NOT IN ('done', 'dlq')"); got != 0 {
		t.Errorf("%d events are neither done nor dead", got)
	}
}

func TestAfterACrashNothingAcknowledgedIsMissingAndAllOfItIsSettled(t *testing.T) {
	short.Skip(t, "after a crash the shop takes its time")
	t.Parallel()
	db := filepath.Join(t.TempDir(), "shop.db")
	child := exec.Command(os.Args[0], "-db", db, "-orders", "200", "-crash")
	child.Env = append(os.Environ(), asShop+"=1")
	output, err := child.CombinedOutput()
	if err == nil || child.ProcessState.Exited() && child.ProcessState.ExitCode() < 3 {
		t.Fatalf("the shop ended by itself (%v):\n%s", err, output)
	}
	acked := acknowledged(t, db)
	if len(acked) == 0 || len(acked) >= 200 {
		t.Fatalf("%d orders were acknowledged, want some and not all of 200", len(acked))
	}

	out := openShop(t, 0, "-db", db, "-orders", "10")
	if cut := number(t, out, `(\d+) handlers were cut off`); cut == 0 {
		t.Error("no handler was cut off, but the plug is pulled by one")
	}
	wantText(t, out, fmt.Sprintf("All %d acknowledged orders are there.\nThe tables and the events agree: ", len(acked)))
	wantText(t, out, fmt.Sprintf("All %d acknowledged orders are there.\nThe tables and the events agree: ", len(acked)+10))
	wantText(t, out, " charges.\nCaught up")
	for _, id := range acked {
		if query(t, db, "SELECT count(*) FROM events WHERE id = ? AND status IN ('done', 'dlq')", id) != 1 {
			t.Errorf("acknowledged order %s is not settled", id)
		}
	}
	books, err := os.ReadFile(db + ".books")
	if err != nil {
		t.Fatal(err)
	}
	if paid := query(t, db, "SELECT count(*) FROM events WHERE type = 'payment.captured'"); strings.Count(string(books), "\n") != paid {
		t.Errorf("the books have %d lines for %d payments", strings.Count(string(books), "\n"), paid)
	}
	if lost := query(t, db, `
		SELECT count(*) FROM events o WHERE type = 'order.placed' AND NOT EXISTS (
			SELECT 1 FROM events p WHERE p.type LIKE 'payment.%' AND p.payload ->> 'order_id' = o.payload ->> 'order_id')`); lost != 0 {
		t.Errorf("%d orders were neither paid nor declined", lost)
	}
}

func TestAnInterruptEndsTheDayEarlyAndLosesNothing(t *testing.T) {
	short.Visit(t, "it runs programs")
	t.Parallel()
	db := filepath.Join(t.TempDir(), "shop.db")
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	interrupt := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("orders sold")) {
			cancel() // as Ctrl-C does, in the middle of selling
		}
		return stdout.Write(p)
	})
	if status := run(ctx, []string{"-db", db}, interrupt, &stderr); status != 130 {
		t.Fatalf("exit status %d, want 130\n%s%s", status, &stdout, &stderr)
	}
	wantText(t, stderr.String(), "-db "+db)
	acked := acknowledged(t, db)
	if len(acked) == 0 || len(acked) >= 500 {
		t.Fatalf("%d orders were acknowledged, want some and not all of 500", len(acked))
	}
	out := openShop(t, 0, "-db", db, "-orders", "1")
	wantText(t, out, "     0 handlers were cut off")
	wantText(t, out, fmt.Sprintf("All %d acknowledged orders are there.\nThe tables ", len(acked)+1))
}

// A retry budget of a thousand is cut to three while a receipt is being tried.
func TestAnEditOfTheTunedFileShowsFromTheNextFailureOn(t *testing.T) {
	short.Skip(t, "retries wait in real time")
	t.Parallel()
	folder := t.TempDir()
	db, catalogue := filepath.Join(folder, "shop.db"), filepath.Join(folder, "events.yaml")
	source, err := os.ReadFile("../events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write := func(budget string) {
		text := strings.Replace(string(source), "defaults:\n", "defaults:\n  breaker: off\n", 1)
		text = regexp.MustCompile(`(?m)^  breaker: \{.*\n`).ReplaceAllString(text, "")
		text = regexp.MustCompile(`(?s)    max_attempts: 3\n.*?    jitter: [^\n]*\n`).ReplaceAllString(text, budget)
		if err := os.WriteFile(catalogue, []byte(text), 0o666); err != nil {
			t.Error(err)
		}
	}
	write("    max_attempts: 1000\n    backoff: constant\n    base_delay: 20ms\n")
	var stdout, stderr bytes.Buffer
	edited := false
	edit := writerFunc(func(p []byte) (int, error) {
		if !edited && bytes.Contains(p, []byte("order 25: attempt 5 of 1000 failed")) {
			edited = true
			write("    max_attempts: 3\n    backoff: constant\n    base_delay: 20ms\n")
		}
		return stdout.Write(p)
	})
	if status := run(t.Context(), []string{"-db", db, "-orders", "30", "-tune", catalogue}, edit, &stderr); status != 0 {
		t.Fatalf("exit status %d\n%s%s", status, &stdout, &stderr)
	}
	out := stdout.String()
	// An attempt that is at work during the change says 1000, and is the last one all the same.
	last := strings.LastIndex(out, "order 25: attempt ")
	if last < 0 {
		t.Fatalf("order 25 has not failed:\n%s", out)
	}
	if n := number(t, out[last:], `order 25: attempt (\d+) of (?:3|1000) failed`); n < 5 || n >= 1000 {
		t.Errorf("the last attempt is %d:\n%s", n, out)
	}
	wantText(t, out, "The settings are those of "+catalogue+" now; different from what was built: [order.placed charge-card send-receipt")
	wantText(t, out, "1 dead letters, newest first")
}

func TestALostOrderWouldBeNoticed(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "shop.db")
	openShop(t, 0, "-db", db, "-orders", "2")
	sheet, err := os.OpenFile(db+".acked", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(sheet, uuid.New())
	sheet.Close()
	wantText(t, openShop(t, 1, "-db", db, "-orders", "1"), "1 of 3 acknowledged orders are LOST")
}

func TestACommandLineThatMakesNoSenseIsRefused(t *testing.T) {
	for _, args := range [][]string{{"x.db"}, {"-orders", "0"}, {"-publishers", "0"}, {"-what"}} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, &stdout, &stderr); status != 2 || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit status %d, want 2 and an explanation\nstdout: %s\nstderr: %s", args, status, &stdout, &stderr)
		}
	}
}

// openShop runs the shop and returns its output.
func openShop(t *testing.T, wantStatus int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), args, &stdout, &stderr); status != wantStatus {
		t.Fatalf("exit status %d, want %d\n%s%s", status, wantStatus, &stdout, &stderr)
	}
	return stdout.String() + stderr.String()
}

// wantRow checks the numbers of a line of the tables.
func wantRow(t *testing.T, out, name string, want ...int) {
	t.Helper()
	row := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` .*$`).FindString(out)
	var got []int
	for _, word := range strings.Fields(row) {
		if n, err := strconv.Atoi(word); err == nil {
			got = append(got, n)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func wantText(t *testing.T, out, want string) {
	t.Helper()
	if !strings.Contains(out, want) {
		t.Errorf("no %q in:\n%s", want, out)
	}
}

func number(t *testing.T, out, pattern string) int {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if match == nil {
		t.Fatalf("no %q in:\n%s", pattern, out)
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func acknowledged(t *testing.T, db string) []string {
	t.Helper()
	content, err := os.ReadFile(db + ".acked")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(content))
}

// query asks the file of the bus for a number.
func query(t *testing.T, db, text string, args ...any) (n int) {
	t.Helper()
	c, err := sql.Open("sqlite3", db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.QueryRowContext(t.Context(), text, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
