// Package transact has the errors of transactions that rows of a program and events share: runtime.Transact,
// runtime.SubscribeTx, runtime.Atomically, runtime.In and runtime.DB.
package transact

import "errors"

// ErrInTx is returned by what writes to the bus on the goroutine of a function of runtime.Transact,
// other than through its Tx: it would wait for itself. The bus notices when a tenth of the function's limit has passed,
// or two. Nothing was written.
var ErrInTx = errors.New("this function runs within a transaction of the bus, which what it calls would wait for: write and publish with its Tx")

// ErrTxOver is returned by a runtime.Tx whose function has returned, or has taken too long.
var ErrTxOver = errors.New("this transaction is over: a Tx is good until its function returns or its time is up")

// ErrTxUndone is returned by runtime.Receipt.Wait for an event that was published in a transaction
// which was not stored.
var ErrTxUndone = errors.New("the transaction that this event was published in was not stored, so there is no such event")

// ErrUncommitted is returned by runtime.Receipt.Wait for an event that was published with runtime.In and
// is not in the file: its transaction was not committed yet, or was rolled back.
var ErrUncommitted = errors.New("the transaction that this event was published in is not committed: commit it before you wait for the event; after a rollback there is no such event")

// ErrNotInHandler is returned by runtime.Atomically for a context that is not the one of a handler.
var ErrNotInHandler = errors.New("this context is not the one of a handler")

// ErrNotAtomic is returned by runtime.Atomically in handlers whose success is not recorded in a
// transaction of its own.
var ErrNotAtomic = errors.New("what this handler does cannot be stored with its success: that is recorded with the success of others, " +
	"in a batch or in a group, with an answer, or nowhere, in an ephemeral subscription")
