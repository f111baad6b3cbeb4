package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// written is what a way of publishing writes to the disk.
type written struct {
	Case   string  `json:"case"`
	Events int     `json:"events"`
	Disk   float64 `json:"bytes_on_disk"` // of one event, in the file once the bus is shut down
	// Wrote is for one event, to the write-ahead log and from there to the file; 0 where the system does not tell.
	Wrote  float64 `json:"bytes_written"`
	Factor float64 `json:"factor"` // of that to the payload
}

// waysToPublish are measured with so many events each, and the same again with a subscription
// that handles them.
var waysToPublish = []struct {
	name    string
	share   int // of the events
	publish func(ctx context.Context, b *bus, events int) error
}{
	{"publish-1", 20, func(ctx context.Context, b *bus, events int) error { return b.publishAtOnce(ctx, events, 1) }},
	{"publish-16", 4, func(ctx context.Context, b *bus, events int) error { return b.publishAtOnce(ctx, events, 16) }},
	{"publish-128", 1, func(ctx context.Context, b *bus, events int) error { return b.publishAtOnce(ctx, events, 128) }},
	{"batch-1000", 1, func(ctx context.Context, b *bus, events int) error {
		_, err := b.publishMany(ctx, events, 0)
		return err
	}},
}

const (
	normalWritten = 200_000
	shortWritten  = 10_000
)

// measureWritten measures all ways to publish.
func measureWritten(ctx context.Context, events int, asJSON bool, folder string, w io.Writer) error {
	root, err := os.MkdirTemp(folder, "busgen-bench-")
	if err != nil {
		return fmt.Errorf("no folder for the event logs: %w", err)
	}
	defer os.RemoveAll(root)
	payload, err := json.Marshal(sample)
	if err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(w, "%-22s %10s %18s %18s %8s\n", "", "events", "bytes on disk", "bytes written", "factor")
	}
	for _, way := range waysToPublish {
		for _, handled := range []bool{false, true} {
			one := written{Case: way.name, Events: max(1, events/way.share)}
			if handled {
				one.Case += ", handled"
			}
			path := filepath.Join(root, fmt.Sprintf("%s-%v.db", way.name, handled))
			err := one.measure(ctx, path, handled, func(b *bus) error { return way.publish(ctx, b, one.Events) })
			if err != nil {
				return fmt.Errorf("%s: %w", one.Case, err)
			}
			one.Factor = one.Wrote / float64(len(payload))
			if asJSON {
				err = json.NewEncoder(w).Encode(one)
			} else {
				_, err = fmt.Fprintf(w, "%-22s %10s %18.0f %18.0f %8.2f\n", one.Case, thousands(float64(one.Events)), one.Disk,
					one.Wrote, one.Factor)
			}
			if err = errors.Join(err, os.Remove(path)); err != nil {
				return err
			}
		}
	}
	if asJSON {
		return nil
	}
	_, err = fmt.Fprintf(w, `
bytes on disk: of one event, in the file. bytes written: for one event, to the write-ahead
log and from there to the file, with the subscription's position. factor: bytes written
÷ the %d bytes of the payload.
%s/%s, %d cores, %s
`, len(payload), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	return err
}

func (r *written) measure(ctx context.Context, path string, handled bool, publish func(b *bus) error) error {
	if err := publishOne(ctx, path); err != nil { // the tables are there
		return err
	}
	size, err := os.Stat(path)
	if err != nil {
		return err
	}
	before := bytesWritten()
	b, err := openBus(ctx, path)
	if err != nil {
		return err
	}
	if handled {
		err = b.subscribe(ctx, 1, false, nil)
	}
	if err == nil {
		err = publish(b)
	}
	if err == nil && handled {
		err = b.requireHandled(ctx, r.Events)
	}
	if err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	after, err := os.Stat(path)
	if err != nil {
		return err
	}
	r.Disk = float64(after.Size()-size.Size()) / float64(r.Events)
	r.Wrote = float64(bytesWritten()-before) / float64(r.Events)
	return nil
}

// bytesWritten returns how many bytes this process has written to files so far; 0 on a system
// that does not tell. Memory that is a file is not among them: the index of the write-ahead log
// and the claims.
func bytesWritten() (n int64) {
	counts, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	_, text, _ := strings.Cut(string(counts), "wchar:")
	fmt.Sscan(text, &n) // stays 0
	return n
}
