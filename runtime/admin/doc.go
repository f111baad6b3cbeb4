// Package admin looks at the file of a bus from outside, and steers it.
//
// A [File] needs the file and nothing else: no bus, no catalogue, no generated
// code. It works on the file of a service that is down, and beside one that is
// running. What it changes, a running bus notices within 200 ms. It is what the
// verbs of the busgen command are made of; package dlq beside it does the same
// for dead letters.
//
//	file, err := admin.Open("shop.db")
//	defer file.Close()
//
// # Looking
//
// [File.Status] is the place to start: who dispatches, how far each
// subscription is behind, what is paused, how many dead letters there are.
// [File.Events] lists events, and [File.Event] shows one with the state of each
// of its deliveries and every attempt that failed:
//
//	page, err := file.Events(ctx, admin.Filter{Types: []string{"order.*"}, Status: "pending"}, admin.Page{})
//	event, err := file.Event(ctx, page.Events[0].ID)
//	for _, d := range event.Deliveries {
//		fmt.Println(d.Subscription, d.State, d.Due)
//	}
//
// # Steering
//
// A pause holds back a subscription, or events of some types, while everything
// else goes on. Nothing is lost: what is held back is delivered after the pause.
// It is kept in the file, so it outlives restarts, until it is resumed:
//
//	err = file.PauseSubscription(ctx, "charge-card")
//	err = file.ResumeSubscription(ctx, "charge-card")
//	err = file.PauseTypes(ctx, "ml.run.*")
//
// [File.Remove] makes the file forget a subscription that no program has any
// more, whose events would wait for ever. Whoever changes something leaves a row
// in the table audit, with the name that [WithActor] gives.
//
// # Checking
//
// [File.Check] reads the whole file and reports what must not be: damaged
// pages, rows that contradict one another, and payloads that a new version of
// the program will not understand.
package admin
