package busfile

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/apptables"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
)

// writing has command lines of all verbs that change the file, in an order in which each has
// something to do. DEAD is a dead letter and OPEN an open event.
var writing = []string{
	`events publish shop.db order.placed '{"number":5,"email":"customer5@example.org"}'`,
	"dlq edit shop.db DEAD", "dlq retry shop.db DEAD", "dlq discard shop.db DEAD --because test --yes", "events discard shop.db --undo DEAD",
	"dlq import shop.db exported.jsonl", "dlq purge shop.db --until 1ms --yes", "dlq import shop.db exported.jsonl", "dlq retry shop.db --all",
	"subscriptions pause shop.db ledger", "events try-now shop.db --all", "events discard shop.db OPEN --because test --yes", "events cancel shop.db OPEN --yes", "subscriptions resume shop.db ledger",
	"events replay shop.db --subscription ledger --all --yes", "events replay shop.db --subscription ledger --since 1h --yes",
	"breakers close shop.db charge-card", "erase shop.db customer5 --field email --yes",
}

// afterwards has those that work while no program dispatches.
var afterwards = []string{"subscriptions remove shop.db ledger --yes"}

// onlyLooking has the verbs that change nothing; other tests compare the bytes of the file.
var onlyLooking = []string{
	"status", "inspect", "events list", "events show", "events tail", "events tree", "events export", "dlq list", "dlq groups", "dlq show", "dlq export", "subscriptions list", "subscriptions show", "breakers list",
	"schedules list", "running list", "limits list", "audit list", "check-db", "completion", "help",
}

func TestEveryVerbIsKnownToWriteOrToLook(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			walk(below)
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "busgen ")
		writes := slices.ContainsFunc(slices.Concat(writing, afterwards), func(line string) bool { return strings.HasPrefix(line, path+" ") })
		if cmd.Runnable() && !cmd.HasSubCommands() && !writes && !slices.Contains(onlyLooking, path) {
			t.Errorf("%s is in no list", path)
		}
	}
	walk(root())
}

func TestVerbsThatWriteLeaveTheTablesOfTheProgramAlone(t *testing.T) {
	short.Visit(t, "it runs many commands")
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		apptables.Make(t, "shop.db")
		before := apptables.Dump(t, "shop.db")
		same := func(after string) {
			t.Helper()
			if diff := cmp.Diff(before, apptables.Dump(t, "shop.db")); diff != "" {
				t.Fatalf("after %s (-before +after):\n%s", after, diff)
			}
		}
		must(t, os.WriteFile("exported.jsonl", []byte(typed(t, "busgen dlq export shop.db", "").Stdout), 0o600))
		dead, open := shownID(t, "busgen dlq list shop.db --reason permanent"), ""
		for _, line := range writing {
			switch {
			case strings.Contains(line, "OPEN"):
				_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: 30, Email: "x@example.org"})
				must(t, err)
				time.Sleep(time.Second)
				open = shownID(t, "busgen events list shop.db --status pending")
			case strings.HasPrefix(line, "breakers"):
				s.breakDown()
			}
			line = "busgen " + strings.NewReplacer("DEAD", dead, "OPEN", open).Replace(line)
			if got := typed(t, line, `{"number": 5, "email": "5"}`); got.Status != 0 {
				t.Errorf("%s: %+v", line, got)
			}
			time.Sleep(time.Second)
			same(line)
			if strings.Contains(line, "dlq edit") { // it is another event now
				dead = shownID(t, "busgen dlq list shop.db --reason permanent")
			}
		}
		s.down.Store(false)
		must(t, s.Shutdown(t.Context()))
		for _, line := range afterwards {
			does(t, "busgen "+line)
			same(line)
		}
		if got := does(t, "busgen check-db shop.db"); !strings.HasPrefix(got, "All is well") {
			t.Errorf("%s", got)
		}
		same("check-db")
	})
}

// Settled events are deleted, and the pages that become free are given back.
func TestDeletingAndCompactingLeaveTheTablesOfTheProgramAlone(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		for range 100 { // which leave a hole in the file
			_, err := runtime.Publish(t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Email: strings.Repeat("x", 5000) + "@example.org"})
			must(t, err)
		}
		apptables.Make(t, "shop.db")
		before := apptables.Dump(t, "shop.db")
		must(t, s.Shutdown(t.Context()))
		bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType),
			runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithRetention(time.Minute))
		must(t, err)
		s.Bus = bus
		s.subscribe()
		must(t, bus.Start(t.Context()))
		time.Sleep(3 * time.Minute)
		if left := query(t, "shop.db", "SELECT count(*) < 20 FROM events"); left != "1\n" { // the dead letters are kept
			t.Error("the events are not deleted")
		}
		freed, err := bus.Compact(t.Context())
		must(t, err)
		if freed == 0 {
			t.Error("no page was free")
		}
		if diff := cmp.Diff(before, apptables.Dump(t, "shop.db")); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

// A backup has the tables of the program, and a bus goes on with it.
func TestABackupHasTheTablesOfTheProgram(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.badNight()
		apptables.Make(t, "shop.db")
		before := apptables.Dump(t, "shop.db")
		db, err := sql.Open("sqlite3", "shop.db")
		must(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), "VACUUM INTO 'backup.db'")
		must(t, err)
		if diff := cmp.Diff(before, apptables.Dump(t, "backup.db")); diff != "" {
			t.Errorf("the backup (-want +got):\n%s", diff)
		}
		if got := does(t, "busgen check-db backup.db"); got != does(t, "busgen check-db shop.db") {
			t.Errorf("%s", got)
		}
		backup, err := runtime.Open(t.Context(), "backup.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		_, err = runtime.Publish(t.Context(), backup, clitest.OrderType, clitest.OrderPlaced{Number: 1})
		must(t, err)
		must(t, backup.Shutdown(context.Background()))
		if diff := cmp.Diff(before, apptables.Dump(t, "backup.db")); diff != "" {
			t.Errorf("the backup after an event (-want +got):\n%s", diff)
		}
	})
}
