package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
)

// bank takes five milliseconds for a payment, when it works, and answers four calls at once. Eight
// handlers could ask it; the limit of the catalogue lets four of them.
type bank struct {
	plug    *plug // nil unless -crash
	calls   atomic.Int32
	busiest atomic.Int32 // the most calls at once
}

// errBusy is the bank's answer to a fifth call.
var errBusy = errors.New("the bank answers four calls at once")

// declinedError is the bank's no.
type declinedError struct{ reason events.DeclineReason }

func (e *declinedError) Error() string { return "the bank declines: " + string(e.reason) }

// errRateLimited is the bank's answer to a client that asks too often. This bank has
// little to do and never gives it.
var errRateLimited = errors.New("the bank asks to come back later")

// charge collects the money and returns the number of the transaction. A handler
// may run again after a crash, so a real bank would be given e.ID to recognise a
// payment that it has made already.
func (b *bank) charge(ctx context.Context, order events.OrderPlaced, attempt int) (reference string, err error) {
	if b.plug != nil {
		b.plug.maybePull()
	}
	calls := b.calls.Add(1)
	defer b.calls.Add(-1)
	for most := b.busiest.Load(); calls > most && !b.busiest.CompareAndSwap(most, calls); {
		most = b.busiest.Load()
	}
	if calls > 4 {
		return "", errBusy
	}
	if order.Number%10 == 3 && attempt <= 2 {
		return "", errors.New("the line to the bank dropped")
	}
	sleep(ctx, 5*time.Millisecond)
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	if order.Number%40 == 21 {
		return "", &declinedError{events.DeclineReasonInsufficientFunds}
	}
	return fmt.Sprintf("%d-%s", order.Number, order.OrderID), nil
}

// brokenProvider does not accept mail until an operator repairs it.
const brokenProvider = "slowmail.example"

type mailProvider struct {
	repaired atomic.Bool
}

func (m *mailProvider) send(_ context.Context, to, _ string) error {
	if strings.HasSuffix(to, "@"+brokenProvider) && !m.repaired.Load() {
		return errors.New(brokenProvider + " refuses the connection")
	}
	return nil
}

// printCard works as long as the text fits on the card.
func printCard(text string) error {
	if len(text) > 1000 {
		return &tooLongError{len(text)}
	}
	return nil
}

// tooLongError is for texts that will not become shorter.
type tooLongError struct{ letters int }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("%d letters do not fit on a gift card", e.letters)
}

// carrier fetches parcels, if it has a van.
type carrier struct {
	name     events.Carrier
	thinking time.Duration // until it answers
	days     int           // until the parcel arrives
	van      bool
}

var allCarriers = []carrier{
	{events.CarrierDHL, time.Millisecond, 2, true},
	{events.CarrierUPS, 50 * time.Millisecond, 1, true}, // nearly always too late
	{events.CarrierPostNL, 0, 3, false},
}

// offer answers the question who fetches a parcel.
func (c carrier) offer(ctx context.Context, e runtime.Event[events.ParcelPickup]) (events.Pickup, error) {
	if !c.van {
		return events.Pickup{}, ask.ErrNoAnswer
	}
	sleep(ctx, c.thinking)
	return events.Pickup{
		Carrier: c.name, TrackingCode: string(c.name) + "-" + e.Payload.OrderID.String()[:8],
		ExpectedOn: runtime.DateOf(e.PublishedAt.AddDate(0, 0, c.days)),
	}, context.Cause(ctx)
}
