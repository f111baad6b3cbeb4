//go:build unix

package jetstream_test

import (
	"testing"

	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// TestMain lets tests start processes: servers, and programs that publish and handle orders.
func TestMain(m *testing.M) {
	servertest.Main(m, map[string]servertest.Role{"worker": work, "publisher": publish, "dawdler": dawdle, "counter": count, "mover": moveFile, "crasher": crash, "parcels": parcels, "ended": ended, "parker": park})
}
