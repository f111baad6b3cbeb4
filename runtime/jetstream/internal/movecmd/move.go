// Package movecmd is the verb "busgen move".
package movecmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/jetstream"
)

// New returns the verb.
func New(opts ...jetstream.Option) *cobra.Command {
	var replicas int
	var back bool
	cmd := &cobra.Command{
		Use:   "move FILE nats://server,server/name",
		Short: "Move what is open in a file to a bus on NATS JetStream",
		Long: `Move brings a bus from one machine to several: events that some subscription
has yet to handle, waiting retries with their attempts and due times, dead
letters, subscriptions with their names and positions, pauses, schedules, and
idempotency keys go to a new bus on NATS JetStream. Events that are settled stay
in the file.

Stop the programs that use the file first. Before anything moves the file is
labelled: from then on nothing can be published to it, and a bus that opens it
is told where its events are. Otherwise the file is left as it is.

Move may be interrupted at any moment, also by kill -9. The same command goes on
where it was; nothing is lost and nothing is there twice. Programs can open the
new bus when all has arrived. Its name must be one that no bus has used.

With --take-back it removes the label from a file: then a bus can be opened on
it again, as it was when the move began. What has moved stays on the servers,
too, so delete the stream there, or events are handled twice.

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen move shop.db nats://a,b,c/shop
  busgen move --take-back shop.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case back && len(args) != 1:
				return errors.New("busgen move --take-back takes one FILE")
			case !back && len(args) != 2:
				return errors.New("busgen move takes a FILE and the address of a bus, such as nats://a,b,c/shop")
			}
			return cli.BusFileExists(args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if back {
				return takeBack(cmd, args[0])
			}
			return move(cmd, args[0], args[1], append([]jetstream.Option{jetstream.Replicas(replicas)}, opts...))
		},
	}
	cmd.Flags().IntVar(&replicas, "replicas", 0, "how many `servers` keep the new stream; without it 3, or as many as there are")
	cmd.Flags().BoolVar(&back, "take-back", false, "make a file that was moved one of a bus again")
	return cmd
}

func move(cmd *cobra.Command, path, target string, opts []jetstream.Option) error {
	progress := terminal.NewProgress(cmd.ErrOrStderr(), false)
	defer progress.Done()
	moved, err := jetstream.Move(cmd.Context(), path, target, func(m jetstream.Moved) { progress.At("moved", m.Events, 0, "events") }, opts...)
	progress.Done()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "moved %s to %s: %d events, %d waiting deliveries, %d dead letters, %d idempotency keys, %d subscriptions\n"+
		"Programs open the bus there now. The file refuses them, and keeps the events that were settled.\n",
		path, cli.Shown(target), moved.Events, moved.Waiting, moved.Dead, moved.Keys, moved.Subscriptions)
	return err
}

func takeBack(cmd *cobra.Command, path string) error {
	target, err := jetstream.TakeBack(cmd.Context(), path)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s was not moved; nothing has changed\n", path)
	if target != "" {
		text = fmt.Sprintf("%s is the file of a bus again, as it was when its move to %s began.\nWhat has moved is there, too: delete that stream.\n", path, target)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}
