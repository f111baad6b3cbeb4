package dispatch

import (
	"math/bits"
	"testing"
	"unsafe"
)

// The allocator rounds what needs more than 4 KiB up by a fifth or more, and there is a run for each
// delivery.
func TestTheRunsThatAreAllocatedTogetherFillFourKiB(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("it is smaller here")
	}
	const room, header = 4 << 10, 8 // what the allocator adds
	one := int(unsafe.Sizeof(run{}))
	if all := one*runsAtOnce + header; all > room || all+one <= room {
		t.Errorf("%d runs of %d bytes need %d bytes", runsAtOnce, one, all)
	}
}
