package ledger

import "time"

// Freed makes a parked delivery due. It keeps its waitlist until its turn ends.
func (r Row) Freed(at time.Time) Row {
	if r.State == Held && r.Waitlist != "" {
		r.State, r.Due, r.Set = Waiting, at, at
	}
	return r
}

// Woken makes a delivery due for which an event is there that its handler waits for.
func (r Row) Woken(at time.Time) Row {
	if r.State == Waiting && r.Suspended {
		r.Due, r.Set = at, at
	}
	return r
}

// Resume makes a delivery due whose event type is no longer paused.
func (r Row) Resume() Row {
	if r.State == Held && r.HeldSince.IsZero() && r.Waitlist == "" {
		r = r.wait(time.Time{}, time.Time{})
	}
	return r
}

// TakenOver makes a delivery due at once that the last program held because it could not read its version: this program
// may know it. Since when it is held stays.
func (r Row) TakenOver() Row {
	if r.State == Held && !r.HeldSince.IsZero() {
		r.Due, r.Set = time.Time{}, time.Time{}
	}
	return r
}

// SetBack follows a wall clock that was set back, so that no wait gets longer. Times of the wall clock itself stay.
func (r Row) SetBack(by time.Duration) Row {
	if r.State.Open() && !r.Set.IsZero() {
		r.Due, r.Set = r.Due.Add(-by), r.Set.Add(-by)
	}
	if !r.HeldSince.IsZero() {
		r.HeldSince = r.HeldSince.Add(-by)
	}
	return r
}

// Unended returns the row of a settled delivery whose end was lost: it waits, as if its turn had not ended.
func (r Row) Unended() Row {
	if r.State == Done {
		r.Delivery = r.Unrecorded()
	}
	r = r.end(Waiting, "", "", time.Time{})
	r.PutOff = true
	return r
}
