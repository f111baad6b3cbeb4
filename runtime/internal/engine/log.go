package engine

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Log is an open event log. All methods are safe for concurrent use, and return
// ErrClosed after CloseWithin.
type Log interface {
	Registry
	Appender
	Dispatcher
	Canceller
	Waiter
	Watcher
	Meter
	Pauser
	Reporter
	Maintainer
	Timetable
	LimitKeeper

	// Traits returns what is always so of this log.
	Traits() Traits

	// CloseWithin writes what is pending and releases the log. It may have to wait for another process that holds a
	// lock, or for a server, and goes on trying until ctx ends. Then it gives up: the log is released all the same, what
	// is not written is as if it was never given, and the error says why. Consumers must have stopped polling. A second
	// call returns nil.
	CloseWithin(ctx context.Context) error
}

// Traits are what a bus has to know of a log. They do not change while it is open.
type Traits struct {
	// Target is what Inspectable.Inspect takes to open this log, whatever the working folder is by now.
	Target string
	// StoresKeys says that Append stores Record.Key. If not, publishers leave it empty, because
	// computing it runs code of the program.
	StoresKeys bool
	// MaxPayload and MaxMetadata are how many bytes the payload of an event and its metadata have at most, by a
	// server; 0 for no bound.
	MaxPayload, MaxMetadata int
}

// Appender stores events.
type Appender interface {
	// Append stores the records in one transaction, in order, and sets their
	// Seq. When it returns nil they survive a power cut; when it returns an
	// error none of them is stored. A context that ends before the
	// transaction has begun withdraws the records; later it is ignored. A
	// record whose idempotency key is known, by the log or by an earlier one of the
	// records, becomes a Duplicate, or a *ConflictError if its payload differs. So does
	// one that is known by its [Record].Once, whatever its payload.
	Append(ctx context.Context, records []Record) error

	// Recognise makes records Duplicates whose idempotency keys the log knows, and
	// returns a *ConflictError if a payload differs. It stores nothing.
	Recognise(ctx context.Context, records []Record) error
}

// Dispatcher lets a process deliver.
type Dispatcher interface {
	// TakeOver makes this process dispatch. With an engine that has one owner per
	// log the error matches ErrOwned while another process is the owner; other engines
	// divide the subscriptions between processes and return no such error.
	//
	// Deliveries whose handlers ran when the last owner died are due now. If only one
	// ran, that counts as a failed attempt. If several ran, it counts for none of
	// them. All of them are suspects from then on. If this is stored it is returned, also
	// with an error, because the next call does not find it again.
	TakeOver(ctx context.Context) (Recovery, error)

	// Consumer returns the durable consumer of a subscription, which is made
	// at the end of the log when the name is new (at its beginning with
	// FromBeginning).
	Consumer(ctx context.Context, spec ConsumerSpec) (Consumer, error)

	// Flush writes dispositions that are still in memory.
	Flush(ctx context.Context) error

	// LetGo is Flush, and says that this process polls a consumer no more. Others may take
	// the subscription over, if the engine divides them between processes.
	LetGo(ctx context.Context, consumer Consumer) error
}

// Recovery is what TakeOver has found.
type Recovery struct {
	Interrupted int     // running when the last owner ended
	Waiting     int     // waiting for a retry
	Dead        int     // dead letters, or the largest number that the engine counts
	Backlog     int64   // events at least one subscription has yet to see
	Crashes     []Crash // the interrupted ones
	// CrashLoop says that the last owner died within CrashLoopTime of its beginning while
	// handlers ran, or that one before it did and none has lived for so long since. A
	// shutdown ends that.
	CrashLoop bool
}

// CrashLoopTime is how long a process has to dispatch before it is believed that it does not end
// by itself.
const CrashLoopTime = 10 * time.Second

// Crash is a delivery whose handler ran when the last owner died.
type Crash struct {
	Delivery
	Subscription string
	// Attempt is the failed attempt as which it counts; nil if others ran too.
	Attempt *event.FailedAttempt
	Ran     int // how many handlers ran, this one included
}
