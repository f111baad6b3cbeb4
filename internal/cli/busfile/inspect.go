package busfile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/localhost"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page"
)

func newInspect(on cli.Engines) *cobra.Command {
	var addr, catalogue string
	var actions bool
	cmd := onFile(on, &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show a page about the bus in a browser",
		Long: `Inspect serves a page about the bus on this machine, and prints its address,
until it is interrupted. The page shows how the bus is doing, what has failed
and why, and the command line behind everything that it offers. It works beside
a running program, and on the file of one that has died, on a backup, and on a
file that cannot be written.

With --catalogue the page shows the docs of event types and fields, the settings
of subscriptions with the lines they come from, and when retries will happen.

The page changes nothing, unless --allow-actions puts buttons on it. What they
do is in the audit under the name of --actor. A payload that is corrected there
is checked as by "dlq edit": with --catalogue, or with the schema in FILE.

The address works once, for one browser: it has a token, for which the browser
gets a cookie. Requests for another host than localhost are refused. --addr says
on which port of this machine the page is; 127.0.0.1:0 is a free one. To look
from another machine, forward the port with "ssh -L". A program can mount the
same page behind its own authentication: see package runtime/inspect/page.

Exit status: 0 it was interrupted, 2 trouble.`,
		Example: `  busgen inspect shop.db
  busgen inspect shop.db --allow-actions --actor ada
  busgen inspect shop.db --catalogue events.yaml
  busgen inspect shop.db --addr 127.0.0.1:8080`,
	}, fileVerb{changes: true, exports: true, quotes: true, opens: true, do: func(c *call) (string, error) {
		if c.actor != "" && !actions {
			return "", errors.New("--actor names who acts: say --allow-actions, too")
		}
		return "", c.servePage(addr, catalogue, actions)
	}})
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "serve on this `address` of this machine; port 0 is a free one")
	cmd.Flags().StringVar(&catalogue, "catalogue", "", "show the docs and settings of the catalogue in this `file`")
	cmd.MarkFlagFilename("catalogue", "yaml", "yml")
	cmd.Flags().BoolVar(&actions, "allow-actions", false, "put buttons on the page that change the file")
	return cmd
}

// servePage serves the page until the verb is interrupted.
func (c *call) servePage(addr, catalogue string, actions bool) error {
	var opts []page.Option
	known, err := catalogueOf(catalogue)
	if err != nil {
		return err
	}
	var with []inspect.Option
	if actions {
		with = append(with, c.editing(known))
	}
	if err := c.open(with...); err != nil {
		return err
	}
	if known != nil {
		opts = append(opts, page.WithSource(known))
	}
	if c.sensitive {
		opts = append(opts, page.WithSensitive())
	}
	if actions {
		actor := c.file.Actor()
		opts = append(opts, page.WithActions(func(*http.Request) (string, bool) { return actor, true }))
	}
	p, err := page.New(c.file, opts...)
	if err != nil {
		return err
	}
	defer p.Close()
	listener, err := listen(c.context(), addr)
	if err != nil {
		return err
	}
	door := localhost.NewDoor(p, localhost.LoopbackHosts()...)
	server := &http.Server{Handler: door, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(c.context(), func() { server.Close() })()
	if _, err := fmt.Fprintf(c.cmd.OutOrStdout(), "Open http://%s%s in a browser; it works once. Ctrl-C ends it.\n",
		listener.Addr(), door.Path()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// listen opens a port of this machine, which others cannot reach.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("--addr is %q: want an address of this machine, as in 127.0.0.1:8080", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--addr is %q, which others could reach: want an address of this machine, as in "+
			"127.0.0.1:8080, and forward the port with ssh -L", addr)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: %w", addr, err)
	}
	return listener, nil
}
