package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

func TestTheStoryEndsWell(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := tell(ctx)
	if errors.Is(err, pgtest.ErrMissing) && os.Getenv("BUSGEN_TESTS") != "more" && testing.Short() {
		t.Skip(err)
	}
	if err != nil {
		t.Error(err)
	}
}
