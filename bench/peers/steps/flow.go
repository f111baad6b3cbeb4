package main

import (
	"context"
	"time"
)

// A flow is an order of six steps: two write a row in the file, four do something in the world outside.
// busgen.go and dbos.go have nothing but what a program has that uses the one or the other.

// A shop is an open file whose flows run.
type shop interface {
	// begin returns when the flow of that order is stored: a crash does not lose it.
	begin(ctx context.Context, order int64) (wait func(ctx context.Context) error, err error)
	// rows returns how many rows the steps have written that write some.
	rows(ctx context.Context) (int, error)
	close(ctx context.Context) error
}

// A world is what the steps do something to. It returns what a service returns: its id.
type world func(step string, order int64) (Done, error)

// Done is the result of a step.
type Done struct {
	ID string `json:"id"`
}

const (
	createRows = "CREATE TABLE IF NOT EXISTS parcel (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, what TEXT NOT NULL)"
	insertRow  = "INSERT INTO parcel (account, what) VALUES (?, ?)"
	countRows  = "SELECT count(*) FROM parcel"
	steps      = 6
	rowSteps   = 2 // of these
	closing    = 5 * time.Second
)
