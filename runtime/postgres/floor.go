package postgres

// floor is the number up to which a relay need not look: rows that it has deleted lie there, which the server steps
// over as long as some transaction keeps a snapshot from before. Below it no row can appear any more.
//
// A transaction may draw a number, and commit after transactions that have drawn greater ones. It has its id before
// it draws the number (insertMany). So after the relay has deleted the row with the number top, in a transaction
// with the id later, all transactions that have drawn a smaller number have a smaller id. Once none of these is
// open, all their rows can be seen. The look that sees so brings those, and then top is the floor.
//
// Numbers and ids begin anew when a server is restored from a backup or another takes over. So the floor is 0 again
// after an error and once a minute.
type floor struct {
	at    int64
	top   int64  // the greatest number that was deleted
	next  int64  // becomes the floor; 0 for none
	later uint64 // when no transaction before this id is open
}

// looked notes that all rows of a view are deleted, or kept out of later ones, in the transaction with the id deleted;
// 0 if there was nothing to delete.
func (f *floor) looked(v *view, deleted uint64) {
	last := int64(0)
	if n := len(v.rows); n > 0 {
		last = v.rows[n-1].Seq
	}
	if f.next > 0 && v.open >= f.later && (!v.full || last >= f.next) {
		f.at, f.next = f.next, 0
	}
	f.top = max(f.top, last)
	if f.next == 0 && deleted > 0 && f.top > f.at {
		f.next, f.later = f.top, deleted
	}
}
