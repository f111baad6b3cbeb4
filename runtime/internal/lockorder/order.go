// Package lockorder says in which order one goroutine may take the locks of dispatch and of limits. A lock is a [Mutex]
// of one of the types below: while a goroutine has it, it may take those further down, and no other of its own type
// unless that is said. Other locks of these packages are leaves: no other lock is taken while one of them is held. The
// bus takes its roster's lock before all of these; the engines' locks, which come after them, are in their doc.go.
//
// A Mutex is a [sync.Mutex] and costs what that costs. With the build tag lockorder each Lock checks the order, and
// panics with both names if it is wrong; the tests with the race detector run with it.
package lockorder

// The order. The turn of a subscription, which is no mutex, comes before all of them.
type (
	Attempt   struct{} // of dispatch: what becomes of an attempt, and first that of a whole batch, then those in it
	Places    struct{} // of dispatch: what waiting handlers have lent
	Waits     struct{} // of dispatch: which events the handlers of the bus wait for
	Alone     struct{} // of dispatch: which subscription runs a suspect
	Crew      struct{} // of dispatch: the workers of a subscription
	Deadlines struct{} // of dispatch: what runs
	Queue     struct{} // of dispatch: what has not begun
	Limits    struct{} // of limit: who has and waits for what
)

// lock is implemented by the types of the order.
type lock interface {
	at() (place int, name string, again bool)
}

func (Attempt) at() (int, string, bool)   { return 1, "an attempt", true }
func (Places) at() (int, string, bool)    { return 2, "places", false }
func (Waits) at() (int, string, bool)     { return 3, "waits", false }
func (Alone) at() (int, string, bool)     { return 4, "alone", false }
func (Crew) at() (int, string, bool)      { return 5, "the crew", false }
func (Deadlines) at() (int, string, bool) { return 6, "deadlines", false }
func (Queue) at() (int, string, bool)     { return 7, "the queue", false }
func (Limits) at() (int, string, bool)    { return 8, "limits", false }
