// Package tuning changes how a running bus delivers, by editing the catalogue.
//
// Generated code carries the settings that the catalogue had when it was
// generated. [Apply] reads a catalogue file and replaces them in a bus, once;
// [Watch] does so whenever the file changes:
//
//	bus, err := events.Open(ctx, "shop.db")
//	watcher, err := tuning.Watch(ctx, bus, "/etc/shop/events.yaml")
//	defer watcher.Close()
//	err = bus.Start(ctx)
//
// A file can tune how events are delivered: retry, timeout, slow_after, slow_event_after,
// expires_after, hold_unknown, max_snoozes, breaker, concurrency, strict_order, batch, limits,
// errors and redrive, of event types and of the subscriptions that the catalogue declares. New
// settings apply from the next attempt and the next failure on; a retry that waits keeps its
// time. Options of the call that subscribes override them, as they override generated code.
//
// Of limits, at_once and rate can be tuned, and apply at once: waiting handlers may begin, and
// running ones keep their places. A limit of [runtime.WithLimit] stays as it is.
//
// A concurrency and a strict_order apply to subscriptions that begin to deliver afterwards: in
// a bus that runs, the [Report] lists them as needing a restart, and the bus logs that.
//
// A file cannot tune what is compiled in: names, payloads, partition keys, priorities, schedules,
// new and removed events. Nor can a limit that is new, gone or renamed, counts by a field that
// no limit of the event type counted by, has another hold, or has got or lost its at_once or
// its rate. If the file differs there, the settings that fit are applied, and the [Report]
// lists the rest as needing a build.
//
// A file that cannot be read, or that has findings, changes nothing: the settings
// that were in force stay. The findings are logged with their positions, once
// for each content of the file. So are files that the bus refuses because they
// do not go together with the options of a subscription.
//
// Files that the catalogue includes are watched too, and so are new files that
// match a pattern of an include.
//
// Once a second the watcher looks at each file's time, size and identity. If one
// of them has changed, it compares the content. That works for editors that
// replace a file instead of writing to it, for symbolic links that are pointed
// elsewhere, as Kubernetes does with its ConfigMaps, and on every file system.
//
// Read tuning.go for [Apply], compare.go for what needs a build, and watch.go for
// the watcher; internal/catalog/watch detects changes of files.
//
// A program that imports this package also compiles the reader of catalogues,
// which makes it 1.3 MB larger without debug information (1.7 MB with it).
package tuning
