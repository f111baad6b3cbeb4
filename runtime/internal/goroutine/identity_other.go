//go:build !amd64 && !arm64

package goroutine

// Identity returns a number that no other goroutine has while the calling one lives.
func Identity() uint64 { return Number() }
