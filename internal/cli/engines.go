package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/runtime/inspect"
)

// Engine opens the buses at addresses such as nats://host/name.
type Engine struct {
	Schemes []string         // before ://
	Example string           // an address
	Inspect inspect.Option   // opens the log of such an address
	Verbs   []*cobra.Command // that only this engine has
}

// Engines are those that a command is built with, besides the one for files.
type Engines []Engine

// commands are what to install for the addresses that other builds of busgen take.
var commands = map[string]string{
	"nats": "github.com/busgen/busgen/runtime/jetstream/cmd/busgen",
	"tls":  "github.com/busgen/busgen/runtime/jetstream/cmd/busgen",
}

// Open opens the log of a bus: a file that exists, or an address of one of the engines.
func (all Engines) Open(ctx context.Context, target string, opts ...inspect.Option) (*inspect.File, error) {
	scheme, _, _ := strings.Cut(target, "://")
	if !IsAddress(target) {
		if err := BusFileExists(target); err != nil {
			return nil, err
		}
		return inspect.Open(ctx, target, opts...)
	}
	for _, e := range all {
		if slices.Contains(e.Schemes, scheme) {
			return inspect.Open(ctx, target, append([]inspect.Option{e.Inspect}, opts...)...)
		}
	}
	if scheme == "file" {
		return nil, fmt.Errorf("open %s: give the path of the file itself, without file://", Shown(target))
	}
	if command := commands[scheme]; command != "" {
		return nil, fmt.Errorf("open %s: this busgen opens files only; install the one that opens %s://, too: go install %s@latest, "+
			"or go get -tool %s in the module of the program", Shown(target), scheme, command, command)
	}
	return nil, fmt.Errorf("open %s: no busgen opens %s://; name the file on which the program opens its bus, or its address", Shown(target), scheme)
}

// IsAddress reports whether a target is no file.
func IsAddress(target string) bool { return strings.Contains(target, "://") }

// Shown returns a target without the users and passwords that an address may have.
func Shown(target string) string {
	scheme, rest, isAddress := strings.Cut(target, "://")
	if !isAddress {
		return target
	}
	hosts, name, named := strings.Cut(rest, "/")
	all := strings.Split(hosts, ",")
	for i, host := range all {
		all[i] = host[strings.LastIndex(host, "@")+1:]
	}
	if named {
		name = "/" + name
	}
	return scheme + "://" + strings.Join(all, ",") + name
}
