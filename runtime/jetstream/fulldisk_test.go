//go:build linux

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// smallDisk returns a folder that is a file system of some bytes.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", bytes)); err != nil {
		t.Skipf("SKIPPED: a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill makes a file system full.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filling")
	f, err := os.Create(name)
	conformance.Must(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return func() { os.Remove(name) }
}

// stored returns how many events of a type the stream has.
func stored(t *testing.T, nc *nats.Conn) int {
	t.Helper()
	client, _ := js.New(nc)
	stream, err := client.Stream(t.Context(), "shop")
	conformance.Must(t, err)
	info, err := stream.Info(t.Context(), js.WithSubjectFilter("shop.e.*.order.paid"))
	conformance.Must(t, err)
	n := 0
	for _, count := range info.State.Subjects {
		n += int(count)
	}
	return n
}

func TestTheDiskOfTheOnlyServerIsFull(t *testing.T) {
	short.Skip(t, "a server does not answer for 15 seconds")
	dir := smallDisk(t, 64<<20)
	binary := servertest.Binaries(t)[0]
	address := fmt.Sprintf("127.0.0.1:%d", servertest.Ports(t, 1)[0])
	settings := fmt.Sprintf("listen: %q\njetstream { store_dir: %q, max_file_store: 1GB }\n", address, dir)
	server, err := binary.Start(t, settings)
	conformance.Must(t, err)
	bus, err := runtime.Open(t.Context(), "nats://"+address+"/shop", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine())
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	published := 0
	publish := func() error {
		_, err := runtime.Publish(t.Context(), bus, conformance.PaidType, conformance.OrderPaid{OrderID: strings.Repeat("A", 100_000)})
		if err == nil {
			published++
		}
		return err
	}
	conformance.Must(t, publish())
	free := fill(t, dir)
	for err = publish(); err == nil && published < 100; err = publish() {
	}
	var storage *event.StorageError
	if !errors.As(err, &storage) || storage.Fault != event.IO || !strings.Contains(storage.Hint, "disk may be full") {
		t.Errorf("Publish returns %v, want a StorageError that says that the disk may be full", err)
	}
	free()
	server.Kill()
	_, err = binary.Start(t, settings)
	conformance.Must(t, err)
	eventually(t, "events cannot be published again", func() bool { return publish() == nil })
	nc, err := nats.Connect(address)
	conformance.Must(t, err)
	defer nc.Close()
	if n := stored(t, nc); n < published || n > published+1 { // one is in doubt
		t.Errorf("%d events are stored, want %d", n, published)
	}
}

// The others go on: an event that the leader could not store, another one has stored, or stores.
func TestTheDiskOfOneOfThreeServersIsFull(t *testing.T) {
	short.Skip(t, "three servers are started, and a disk filled")
	for _, binary := range servertest.Binaries(t) {
		t.Run(binary.Version, func(t *testing.T) { oneDiskOfThreeIsFull(t, binary) })
	}
}

func oneDiskOfThreeIsFull(t *testing.T, binary servertest.Binary) {
	ports := servertest.Ports(t, 6)
	var dirs, hosts []string
	for i := range 3 {
		dirs, hosts = append(dirs, smallDisk(t, 64<<20)), append(hosts, fmt.Sprintf("127.0.0.1:%d", ports[i]))
		_, err := binary.Start(t, fmt.Sprintf("server_name: s%d\nlisten: %q\njetstream { store_dir: %q, max_file_store: 1GB }\n"+
			"cluster { name: shop, listen: \"127.0.0.1:%d\", routes: [nats://127.0.0.1:%d, nats://127.0.0.1:%d, nats://127.0.0.1:%d] }",
			i, hosts[i], dirs[i], ports[3+i], ports[3], ports[4], ports[5]))
		conformance.Must(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bus, err := runtime.Open(ctx, "nats://"+strings.Join(hosts, ",")+"/shop", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine())
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	nc, err := nats.Connect(strings.Join(hosts, ","))
	conformance.Must(t, err)
	defer nc.Close()
	client, _ := js.New(nc)
	stream, err := client.Stream(ctx, "shop")
	conformance.Must(t, err)
	leader := 0
	fmt.Sscanf(stream.CachedInfo().Cluster.Leader, "s%d", &leader)
	const all = 100
	for n := range all {
		if n == 1 {
			fill(t, dirs[leader])
		}
		if _, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: strings.Repeat("A", 20_000)}); err != nil {
			t.Fatalf("event %d: %v", n, err)
		}
	}
	// The one that was the leader goes on answering, and has fewer.
	most := 0
	eventually(t, "the events are not stored", func() bool {
		most = max(most, stored(t, nc))
		return most >= all
	})
	if most != all {
		t.Errorf("%d events are stored, want %d", most, all)
	}
}
