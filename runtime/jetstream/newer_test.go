//go:build unix

package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// parcels is the role of a program that knows parcels up to a version.
func parcels(args []string) {
	asked := servertest.Asked()
	version, _ := strconv.Atoi(args[1])
	if err := conformance.ParcelProgram(version, parcelOpener(args[0]), servertest.Say, asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parcelOpener(target string) func(*runtime.Catalogue) (*runtime.Bus, error) {
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("BUSGEN_TEST_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pid", os.Getpid())
	}
	return func(c *runtime.Catalogue) (*runtime.Bus, error) {
		return runtime.Open(context.Background(), target, c, runtime.WithLogger(logger), jetstream.Engine(jetstream.Replicas(3)))
	}
}

func TestTwoVersionsOfAProgramShareAndTakeTurnsForwardBackAndForwardAgain(t *testing.T) {
	short.Skip(t, "real programs share a real server")
	for name, beside := range map[string]bool{"in turns": false, "beside each other": true} {
		t.Run(name, func(t *testing.T) {
			server := servertest.StartNodes(t, 3)
			target := "nats://" + server.Hosts() + "/parcels"
			p := &conformance.TwoPrograms{T: t, Beside: beside, Open: parcelOpener(target), Start: func(version int, line func(string)) (end func()) {
				process := servertest.StartProcess(t, line, "parcels", target, strconv.Itoa(version))
				return func() {
					if !process.End(time.Minute) {
						t.Error("a process does not end")
					}
				}
			}}
			p.Run()
		})
	}
}
