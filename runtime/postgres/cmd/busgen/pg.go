package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/postgres/internal/operate"
)

// pg is one call of a verb.
type pg struct {
	operate.Tables
	ctx         context.Context
	cmd         *cobra.Command
	bus         *inspect.File // nil for a verb that needs none
	args        []string      // behind the address and the bus
	since       cli.Moment
	schema      string
	json, dry   bool
	yes, hasBus bool
}

func newPG(on cli.Engines) *cobra.Command {
	family := cli.Family(&cobra.Command{
		Use:   "pg",
		Short: "Look into an outbox and an inbox in Postgres, and repair them",
		Long: `Pg is about the tables of an outbox and an inbox in Postgres: see docs/postgres.md.
URL is the address of the database, such as postgres://host/shop; what it does not
say is taken from PGHOST, PGUSER, PGPASSWORD and so on, as psql does. FILE is the
bus that the outbox is relayed to: a file, or an address such as nats://a,b,c/shop.`,
	})
	verb := func(use, short, long, example string, flags string, do func(p *pg) (string, error)) {
		p := &pg{hasBus: strings.Contains(use, "FILE")}
		least := len(strings.Fields(use)) - 1
		p.cmd = &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < least || len(args) > least && !strings.HasSuffix(use, "…") {
				return fmt.Errorf("%s takes %s: see \"%s --help\"", cmd.CommandPath(), use[strings.Index(use, " ")+1:], cmd.CommandPath())
			}
			return nil
		}}
		p.cmd.Flags().StringVar(&p.schema, "schema", "busgen", "the `name` of the schema that the tables are in")
		p.cmd.Flags().BoolVar(&p.json, "json", false, "print JSON, for programs")
		if strings.Contains(flags, "since") {
			p.cmd.Flags().Var(&p.since, "since", "the `time`, or how long ago")
			p.cmd.MarkFlagRequired("since")
		}
		if strings.Contains(flags, "changes") {
			p.cmd.Flags().BoolVar(&p.dry, "dry-run", false, "count only")
			p.cmd.Flags().BoolVarP(&p.yes, "yes", "y", false, "do not ask")
		}
		p.cmd.RunE = cli.Report(func(args []string) (string, error) { return p.run(on, args, do) })
		family.AddCommand(p.cmd)
	}
	verb("status URL", "Show what waits in an outbox, who relays it, and what keeps dead rows",
		`Status shows what is in the outbox, which process relays it and to which bus, which
subscriptions have an inbox, and the transaction that has been open for the
longest time.

Exit status: 0 done, 2 trouble.`, "  busgen pg status postgres://db/shop", "", status)
	verb("resend URL", "Put what was relayed into the outbox again, for a new bus",
		`Resend puts what was relayed since a time into the outbox again, because the bus that
had it is lost. The relay must have the option KeepRelayed. A bus that has an event
drops it. Handlers with an inbox skip what they have handled; others handle it again.

Exit status: 0 done, 1 the answer was no, 2 trouble.`, "  busgen pg resend postgres://db/shop --since 2026-12-01T03:00 --dry-run", "since changes", resend)
	verb("reconcile URL FILE", "Handle again what a standby has not heard of that has taken over",
		`Reconcile compares a bus with the marks of its inbox, because an asynchronous standby
has taken over: events that were published since a time, that a subscription with an
inbox has handled and that have no mark are replayed to it. What is marked stays as
it is. The time is at most 7 days ago, because marks are kept for so long, and not
before the subscription had its inbox.

Exit status: 0 done, 1 the answer was no, 2 trouble.`, "  busgen pg reconcile postgres://db/shop shop.db --since 30m --dry-run", "since changes", reconcile)
	verb("prune URL FILE", "Delete old marks of handled events",
		`Prune deletes marks that are 7 days old, unless the bus has yet to settle their events
or has them as dead letters. The relay does so every hour.

Exit status: 0 done, 2 trouble.`, "  busgen pg prune postgres://db/shop shop.db", "", func(p *pg) (string, error) {
			n, err := p.Prune(p.ctx, operate.LogOf(p.bus))
			return p.report(map[string]int{"deleted": n}, "deleted "+terminal.Counted(n, "mark")+"\n", err)
		})
	verb("erase URL FILE VALUE…", "Erase a person from events that were relayed and are kept",
		`Erase takes a person out of the events that the relay keeps (KeepRelayed), as "busgen
erase" does for a file; the bus says which fields are personal. Events that are
still in the outbox are left, and counted as open: erase them in the bus, when it
has them. Marks have nothing of a person.

Exit status: 0 done, 1 the answer was no, or events are open, 2 trouble.`, "  busgen pg erase postgres://db/shop shop.db ada@example.org --dry-run", "changes", erase)
	return family
}

// run connects, and opens the bus.
func (p *pg) run(on cli.Engines, args []string, do func(p *pg) (string, error)) (string, error) {
	p.ctx, p.Schema, p.args = p.cmd.Context(), p.schema, args[1:]
	config, err := pgx.ParseConfig(args[0])
	if err != nil || !strings.Contains(args[0], "=") && !strings.Contains(args[0], "://") {
		return "", errors.New("the address of the database is not valid: give one as in postgres://host/shop") // it may have a password
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // for poolers
	conn, err := pgx.ConnectConfig(p.ctx, config)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(p.ctx))
	p.Query = operate.Reading(conn.Query)
	if p.hasBus {
		if p.bus, err = on.Open(p.ctx, p.args[0]); err != nil {
			return "", err
		}
		defer p.bus.Close()
		p.args = p.args[1:]
	}
	report, err := do(p)
	if err != nil && strings.Contains(err.Error(), "42P01") {
		err = fmt.Errorf("%w: the schema %s has no outbox; run postgres.Migrate, or name another one with --schema", err, p.schema)
	}
	return report, err
}

// report returns a report as people or programs read it.
func (p *pg) report(document any, text string, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case p.json:
		return cli.Document(document)
	}
	return text, nil
}

// confirm asks, unless nothing is changed.
func (p *pg) confirm(question string) error {
	if p.yes || p.dry {
		return nil
	}
	ok, err := terminal.Confirm(p.ctx, p.cmd.InOrStdin(), p.cmd.ErrOrStderr(), question)
	switch {
	case errors.Is(err, terminal.ErrNobody):
		return fmt.Errorf("%w: %s If so, say --yes", err, question)
	case err == nil && !ok:
		return cli.No(errors.New("nothing was changed"))
	}
	return err
}

func status(p *pg) (string, error) {
	s, err := p.Status(p.ctx)
	now, text := time.Now(), &strings.Builder{}
	fmt.Fprintf(text, "%s wait", terminal.Counted(s.Waiting, "event"))
	if s.Oldest != nil {
		fmt.Fprintf(text, ", the first one since %s", terminal.Time(*s.Oldest, now))
	}
	fmt.Fprintf(text, "; %s\n", terminal.Counted(s.DeadRows, "dead row"))
	switch {
	case s.Relay != nil:
		fmt.Fprintf(text, "process %s relays to %s\n", *s.Relay, terminal.Clean(*s.Bus))
	case s.Bus != nil:
		fmt.Fprintf(text, "no process relays; the last one did to %s\n", terminal.Clean(*s.Bus))
	default:
		text.WriteString("no process has ever relayed\n")
	}
	if len(s.Subscriptions) > 0 {
		fmt.Fprintf(text, "handled in Postgres: %s\n", terminal.Clean(strings.Join(s.Subscriptions, ", ")))
	}
	if t := s.Transaction; t != nil {
		fmt.Fprintf(text, "open since %s: a transaction of %s (process %d, %s): %s\n", terminal.Time(t.Since, now), terminal.Clean(t.User), t.PID, t.State, terminal.Clean(t.Query))
	}
	return p.report(s, text.String(), err)
}

func resend(p *pg) (string, error) {
	n, err := p.Resend(p.ctx, time.Time(p.since), true)
	if err == nil {
		err = p.confirm(fmt.Sprintf("Put %s into the outbox again?", terminal.Counted(n, "event")))
	}
	verb := "would put"
	if err == nil && !p.dry {
		verb = "put"
		n, err = p.Resend(p.ctx, time.Time(p.since), false)
	}
	return p.report(map[string]int{"events": n}, fmt.Sprintf("%s %s into the outbox again\n", verb, terminal.Counted(n, "event")), err)
}

func reconcile(p *pg) (string, error) {
	counts, err := p.Reconcile(p.ctx, p.bus, time.Time(p.since), true)
	if err == nil {
		err = p.confirm(fmt.Sprintf("Replay %s?", terminal.Counted(counts.Matched, "handled event")))
	}
	if err == nil && !p.dry {
		counts, err = p.Reconcile(p.ctx, p.bus, time.Time(p.since), false)
	}
	return p.report(counts, fmt.Sprintf("handled without a mark: %s; replayed: %s\n", terminal.Number(counts.Matched), terminal.Number(counts.Moved)), err)
}

func erase(p *pg) (string, error) {
	err := p.confirm("Erase this person from what is kept in Postgres? Nothing brings it back.")
	if err != nil {
		return "", err
	}
	n, err := p.Erase(p.ctx, p.bus, inspect.Erasure{Values: p.args, DryRun: p.dry})
	report, err := p.report(n, fmt.Sprintf("%s about the person, and %s elsewhere; %s open\n%s of others with the person in them, and %s by key, stay as they are\n",
		terminal.Counted(n.Events, "event"), terminal.Counted(n.Texts, "text"), terminal.Counted(n.Open, "event"), terminal.Counted(n.Mentions, "event"), terminal.Number(n.Keyed)), err)
	if err == nil && n.Open > 0 && !p.dry {
		err = cli.No(errors.New("events about the person are still in the outbox: erase them in the bus when they are relayed, and then run this again"))
	}
	return report, err
}
