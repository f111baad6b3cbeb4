package tuning_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/tuning"
)

func ExampleApply() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tuning")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	bus, err := events.Open(ctx, filepath.Join(dir, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)

	// The catalogue that the program was built from, with another number in it.
	source, err := os.ReadFile("../../examples/events.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	edited := strings.Replace(string(source), "max_snoozes: 5", "max_snoozes: 20", 1)
	path := filepath.Join(dir, "events.yaml")
	if err := os.WriteFile(path, []byte(edited), 0o666); err != nil {
		fmt.Println(err)
		return
	}

	report, err := tuning.Apply(bus, path)
	fmt.Println(report.Tuned, report.NeedsBuild, err)
	// Output: [charge-card] [] <nil>
}

func ExampleWatch() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tuning")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	bus, err := events.Open(ctx, filepath.Join(dir, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)

	watcher, err := tuning.Watch(ctx, bus, "../../examples/events.yaml", tuning.Notify(func(report tuning.Report, err error) {
		fmt.Println("tuned:", len(report.Tuned), "error:", err)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watcher.Close()
	// From now on an edit of the file is in force within about a second.

	// Output: tuned: 0 error: <nil>
}
