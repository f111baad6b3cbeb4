// Package dlq looks into the dead letters of an event log: the deliveries that
// a subscription has given up on.
//
// An [Inspector] needs the file and nothing else: no bus, no catalogue, no
// generated code. It works on the file of a service that is down, and beside one
// that is running: a dead letter that it retries is picked up by the running
// bus within a fraction of a second, and otherwise at the next start.
//
//	inspector, err := dlq.Open("shop.db")
//	defer inspector.Close()
//
//	letters, err := inspector.List(ctx, dlq.Page{})       // newest first, 100 at most
//	for _, letter := range letters {
//		fmt.Println(letter.Key, letter.Reason, letter.LastError())
//	}
//	err = inspector.Retry(ctx, letters[0].Key)            // once the cause is gone
//	n, err := inspector.Purge(ctx, time.Now().AddDate(0, -1, 0))
//
// One event can be dead for several subscriptions; each is a dead letter of its
// own, with its own [Key].
package dlq
