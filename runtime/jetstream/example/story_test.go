package main

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"
)

// It takes about half a minute, and starts seven processes.
var story = flag.Bool("story", false, "tell the story of the example")

// TestMain lets the processes of the story play their parts.
func TestMain(m *testing.M) {
	if playPart() {
		return
	}
	os.Exit(m.Run())
}

func TestTheStoryEndsWell(t *testing.T) {
	if !*story {
		t.Skip("it takes half a minute: run it with -story")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := tell(ctx); err != nil {
		t.Error(err)
	}
}
