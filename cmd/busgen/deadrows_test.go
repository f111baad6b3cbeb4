package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

// deadLetters makes shop.db with so many orders and payments that are dead
// letters, and returns the id of the last one.
func deadLetters(t *testing.T, orders, payments int) (id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bus, err := runtime.Open(ctx, "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType),
		runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithDurability(runtime.Normal))
	must(t, err)
	broken := runtime.Permanent(errors.New("it does not work"))
	_, err = runtime.Subscribe(bus, clitest.OrderType, "send-receipt", func(context.Context, runtime.Event[clitest.OrderPlaced]) error { return broken })
	must(t, err)
	_, err = runtime.Subscribe(bus, clitest.PaymentType, "charge-card", func(context.Context, runtime.Event[clitest.PaymentRequested]) error { return broken })
	must(t, err)
	must(t, bus.Start(ctx))
	settled := func(receipt *runtime.Receipt, err error) {
		t.Helper()
		must(t, err)
		if _, err := receipt.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		id = receipt.ID.String()
	}
	for i := range orders {
		settled(runtime.Publish(ctx, bus, clitest.OrderType, clitest.OrderPlaced{Number: i, Email: "a@example.org"}))
	}
	for i := range payments {
		settled(runtime.Publish(ctx, bus, clitest.PaymentType, clitest.PaymentRequested{Order: i, Cents: 100}))
	}
	must(t, bus.Shutdown(ctx))
	return id
}

// Another catalogue, or another branch, may have given the version another payload.
func TestTheRowsThatLackARequiredFieldAreCounted(t *testing.T) {
	inFolder(t, map[string]string{"next.yaml": "version: 1\npackage: shop\nevents:\n  order.placed:\n    payload: { grams: int64, note: \"string?\" }\n" +
		"  payment.requested: { payload: { order: int, cents: int64 } }\n"})
	deadLetters(t, 2, 1)
	got := typed(t, "busgen breaking next.yaml --db shop.db", "")
	got.Stdout = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}`).ReplaceAllString(got.Stdout, "ID")
	got.Wants(t, cli.StatusNo, `next.yaml:4:3: warning: 2 rows of order.placed, version 1, in shop.db (0 open deliveries, 2 dead letters; such as ID) are read with zero values in the place of what they lack: grams; raise the version and keep the payload that they have under history, or make the field optional or give it a default [stored-fields]
    4 |   order.placed:
      |   ^^^^^^^^^^^^
shop.db: all of 3 open or dead rows decode; 2 without a field that is required
`, "busgen: 1 warning in next.yaml\n")
}

func TestTheRowsThatWouldNotDecodeAreCounted(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": clitest.ShopCatalogue})
	deadLetters(t, 1, 11)
	if got := does(t, "busgen breaking --db shop.db"); got != "shop.db: all of 12 open or dead rows decode\n" {
		t.Errorf("%s", got)
	}
	next := strings.NewReplacer("cents: int64", "cents: int32", "number: int", "number: bool", "payload: { order: int,", "payload: { order: \"[]int\",").Replace(clitest.ShopCatalogue)
	must(t, os.WriteFile("next.yaml", []byte(next), 0o600))
	got := typed(t, "busgen breaking next.yaml --db shop.db", "")
	got.Stdout = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}`).ReplaceAllString(got.Stdout, "ID")
	got.Wants(t, cli.StatusNo, `next.yaml:4:3: error: 1 row of order.placed, version 1, in shop.db (0 open deliveries, 1 dead letter; such as ID) cannot be decoded: number: want true or false (bool), got a number; raise the version and keep the payload that they have under history, or settle them with the old program [stored-rows]
    4 |   order.placed:
      |   ^^^^^^^^^^^^
next.yaml:6:3: error: 11 rows of payment.requested, version 1, in shop.db (0 open deliveries, 11 dead letters; such as ID) cannot be decoded: order: want a list ([]int), got a number; raise the version and keep the payload that they have under history, or settle them with the old program [stored-rows]
    6 |   payment.requested:
      |   ^^^^^^^^^^^^^^^^^
shop.db: 12 of 12 open or dead rows cannot be decoded
`, "busgen: 2 errors in next.yaml\n")
	must(t, os.WriteFile("gone.yaml", []byte(strings.Replace(clitest.ShopCatalogue, "payment.requested", "payment.asked", 1)), 0o600))
	got = typed(t, "busgen breaking gone.yaml --db shop.db --against events.yaml", "")
	for _, text := range []string{
		"cannot be decoded: event type payment.requested is not in gone.yaml; settle them with a program that knows it", "gone.yaml:2:10: error: event payment.requested is gone",
		"add aliases: [payment.requested] to payment.asked", "shop.db: 11 of 12 open or dead rows cannot be decoded\n",
	} {
		if got.Status != cli.StatusNo || !strings.Contains(got.Stdout, text) {
			t.Errorf("status %d without %s:\n%s", got.Status, text, got.Stdout)
		}
	}
	must(t, os.WriteFile("renamed.yaml", []byte(strings.Replace(clitest.ShopCatalogue, "payment.requested:", "payment.asked:\n    aliases: [payment.requested]", 1)), 0o600))
	if got := does(t, "busgen breaking renamed.yaml --db shop.db"); got != "shop.db: all of 12 open or dead rows decode\n" {
		t.Errorf("%s", got)
	}
}
