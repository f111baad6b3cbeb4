// Command busgen is the command of the main module with the verbs "busgen pg", about an outbox and an inbox in
// Postgres. Its buses are in files and on NATS JetStream, because either can be behind an outbox. The module of the
// command is one of its own: so neither the main module nor programs that use package postgres get what it needs.
//
// Install it in place of the other one:
//
//	go install github.com/busgen/busgen/runtime/postgres/cmd/busgen@latest
package main

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/runtime/jetstream"
)

func main() { command.Main(engine()) }

func engine() cli.Engine {
	on := cli.Engine{Schemes: []string{"nats", "tls"}, Example: "nats://a,b,c/shop", Inspect: jetstream.Inspect(jetstream.Environment())}
	on.Verbs = []*cobra.Command{newPG(cli.Engines{on})}
	return on
}
