package runtimetest_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeT is a test that may fail.
type fakeT struct {
	testing.TB // the real one

	mu       sync.Mutex
	failures []string
	output   bytes.Buffer
	cleanups []func()
}

// try runs f as a test with its cleanups, and returns it.
func try(t *testing.T, f func(t testing.TB)) *fakeT {
	fake := &fakeT{TB: t}
	for _, part := range []func(){func() { f(fake) }, fake.cleanup} {
		done := make(chan struct{})
		go func() { // Fatal ends the goroutine
			defer close(done)
			part()
		}()
		<-done
	}
	return fake
}

func (f *fakeT) cleanup() {
	for _, one := range slices.Backward(f.cleanups) {
		one()
	}
}

func (f *fakeT) Helper()           {}
func (f *fakeT) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }
func (f *fakeT) Output() io.Writer { return f }

func (f *fakeT) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.output.Write(p)
}

func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

func (f *fakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// failedWith checks that the test has failed once, and says that.
func failedWith(t *testing.T, f *fakeT, want string) {
	t.Helper()
	if len(f.failures) != 1 || !strings.Contains(f.failures[0], want) {
		t.Errorf("it has failed with %q, want one failure with %q", f.failures, want)
	}
}
