package dispatch

import "context"

// Watched is what observers have left with an attempt before its handler was called. It
// does not change any more.
type Watched struct {
	Context  context.Context // what the handler is given: the attempt, and values; nil for the attempt itself
	Logged   []any           // attributes of every log line about the attempt
	Released func()          // called when the handler has returned, whatever came of the attempt
	Of       any             // more of it, for who has made it
}

// Watch keeps what observers have left. It is called before the handler is.
func (a *Attempt) Watch(w *Watched) { a.extras().watched.Store(w) }

// watchedItself returns what observers have left with the attempt itself; nil for nothing.
func (a *Attempt) watchedItself() *Watched {
	if x := a.extra.Load(); x != nil {
		return x.watched.Load()
	}
	return nil
}

// Watched returns what observers have left with the attempt or, if it is part of a batch,
// with the batch; nil for nothing.
func (a *Attempt) Watched() *Watched {
	if w := a.watchedItself(); w != nil || a.batch == nil {
		return w
	}
	return a.batch.whole.watchedItself()
}

// Cancelled tells whether the delivery was cancelled while its handler was at work, and the
// word for that.
func (a *Attempt) Cancelled() (reason string, cancelled bool) {
	return a.run.scheduler.consumer.Cancelled(a.Seq)
}

// Given returns the context that the handler is given.
func (a *Attempt) Given() context.Context {
	if w := a.watchedItself(); w != nil && w.Context != nil {
		return w.Context
	}
	return a.Handed()
}

// released tells observers that the handler has returned.
func (a *Attempt) released() {
	if w := a.watchedItself(); w != nil {
		w.Released()
	}
}

// Begun returns the attempts of a batch, also those that cannot be handed over.
func (b *Batch) Begun() []*Attempt { return b.begun }
