// Command busgen is the command of the main module, and takes the addresses of buses on NATS
// JetStream wherever that takes the file of a bus:
//
//	busgen status nats://a,b,c/shop
//
// It connects as the nats command does: by the variables NATS_… of the environment, and by a context, whose
// servers it takes if the address names none:
//
//	NATS_CONTEXT=production busgen status nats:///shop
//
// It has one verb more: "busgen move" brings the bus of a file to such an address.
//
// Install it in place of the other one:
//
//	go install github.com/busgen/busgen/runtime/jetstream/cmd/busgen@latest
package main

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/command"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/movecmd"
)

func main() {
	environment := jetstream.Environment()
	command.Main(cli.Engine{
		Schemes: []string{"nats", "tls"}, Example: "nats://a,b,c/shop", Inspect: jetstream.Inspect(environment), Verbs: []*cobra.Command{movecmd.New(environment)},
	})
}
