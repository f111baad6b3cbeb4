package main

import (
	"os"
	"testing"
)

// actAsBusgen has the test binary be the command: for tests that need a process of its own.
const actAsBusgen = "BUSGEN_TEST_AS_COMMAND=1"

func TestMain(m *testing.M) {
	if os.Getenv("BUSGEN_TEST_AS_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}
