package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/observe"
)

// A subscription is saturated when its handlers are busy all the time and its backlog
// grows all the same: more is published than they can handle. The health watch finds out
// with what is counted anyway: no event costs more. It asks the file for backlogs only
// while a subscription is busy.
const (
	// saturationWindow is for how long a subscription has to be busy, and its backlog to
	// have grown. With a longer Health.Every it is two looks.
	saturationWindow = time.Minute
	// saturatedFrom and saturatedTo are the shares of the handlers' time at which an
	// episode begins and ends.
	saturatedFrom, saturatedTo = 0.95, 0.80
	// saturatedBacklog is the least backlog at which an episode begins. It ends when half
	// of it is left, or half of the largest backlog of the episode.
	saturatedBacklog = 100
	// saturatedGrowth is the least growth, together with a hundredth of the backlog.
	saturatedGrowth = 10
	// saturationCounted is where backlogs are no longer counted.
	saturationCounted = 10_000
)

// saturationWatch belongs to the goroutine of the health watch.
type saturationWatch struct {
	feeds   map[*feed]*load
	check   observe.HealthCheck
	rest    time.Time // the file is not asked again before
	failing bool      // it could not be asked the last time
}

// load is what is known of a feed.
type load struct {
	at        time.Time     // of the last look
	busy      time.Duration // of its handlers, until then
	share     float64       // of the time before it in which its places were in use
	backlogs  []backlogAt   // since it is busy; the first is as old as the window, if it can be
	saturated bool
	largest   int // backlog of the episode
}

type backlogAt struct {
	at   time.Time
	size int
}

// busyTime returns for how long handlers of the feed have been at work, all together, since
// the bus was opened. The caller holds the bus's mu.
func (f *feed) busyTime(now time.Time) (busy time.Duration) {
	for _, m := range *f.members.Load() {
		if m.batched != nil { // each event of a batch counts all of its time
			busy += time.Duration(m.batches.took.Load())
			continue
		}
		_, seconds := m.counts.handler.Snapshot()
		busy += time.Duration(seconds * float64(time.Second))
	}
	for _, a := range f.scheduler.Running(nil, now, 0) {
		if !a.Abandoned { // its time was counted at the deadline
			busy += now.Sub(a.Started)
		}
	}
	return busy
}

// look measures all feeds that deliver.
func (w *saturationWatch) look(b *innerBus, now time.Time) (busy bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	loads := map[*feed]*load{}
	for _, f := range b.feeds {
		if f.scheduler == nil || f.detached != nil {
			continue
		}
		l := w.feeds[f]
		total := f.busyTime(now)
		if l == nil {
			l = &load{}
		} else if passed := now.Sub(l.at); passed > 0 {
			l.share = float64(total-l.busy) / float64(passed) / float64(f.places)
		}
		l.at, l.busy = now, total
		if l.share < saturatedFrom && !l.saturated {
			l.backlogs = nil
		}
		busy = busy || l.share >= saturatedFrom || l.saturated
		loads[f] = l
	}
	w.feeds = loads
	return busy
}

// judge begins or ends an episode, by a backlog that was just counted. It reports whether
// something has changed.
func (l *load) judge(now time.Time, backlog int) (changed bool) {
	l.backlogs = append(l.backlogs, backlogAt{now, backlog})
	for len(l.backlogs) > 1 && now.Sub(l.backlogs[1].at) >= saturationWindow {
		l.backlogs = l.backlogs[1:]
	}
	first := l.backlogs[0]
	switch {
	case l.saturated:
		l.largest = max(l.largest, backlog)
		if l.share < saturatedTo || backlog < max(saturatedBacklog, l.largest)/2 {
			l.saturated, l.largest, l.backlogs = false, 0, nil
			return true
		}
	case now.Sub(first.at) >= saturationWindow && backlog-first.size >= max(saturatedGrowth, first.size/100) && backlog >= saturatedBacklog:
		l.saturated, l.largest = true, backlog
		return true
	}
	return false
}

// checkSaturation looks whether subscriptions have become saturated, or are no longer.
func (h *healthWatch) checkSaturation(ctx context.Context) {
	w, began := &h.saturation, time.Now()
	busy := w.look(h.bus, began)
	if busy && began.Before(w.rest) {
		return
	}
	backlogs := map[string]int{}
	if busy {
		lags, err := h.bus.log.Subscriptions(ctx, saturationCounted)
		w.rest = began.Add(100 * time.Since(began))
		if err != nil {
			if ctx.Err() == nil && !w.failing {
				h.bus.config.logger.Error("backlogs cannot be counted; trying again", "error", err)
			}
			w.failing = true
			return
		}
		w.failing = false
		for _, lag := range lags {
			backlogs[lag.Name] = lag.BacklogAtMost - lag.Waiting - lag.Held // these need no worker yet
		}
	}
	var saturated []string
	largest := 0
	w.check.Mostly = ""
	for f, l := range w.feeds {
		if l.share >= saturatedFrom || l.saturated {
			backlog := backlogs[f.name]
			grown := 0
			if len(l.backlogs) > 0 {
				grown = backlog - l.backlogs[0].size
			}
			if l.judge(began, backlog) {
				f.reportSaturation(l, backlog, grown)
			}
			if l.saturated && (backlog > largest || w.check.Mostly == "") {
				largest, w.check.Mostly = backlog, f.name
			}
		}
		if l.saturated {
			saturated = append(saturated, f.name)
		}
		f.saturated.Store(l.saturated)
	}
	w.check.Value, w.check.Exceeded = float64(len(saturated)), len(saturated) > h.policy.Saturated
	slices.Sort(saturated)
	h.mu.Lock()
	same := slices.Equal(h.saturatedNames, saturated)
	h.saturatedNames = saturated
	h.mu.Unlock()
	if !same {
		h.bus.showing.Changed()
	}
}

// reportSaturation logs that an episode has begun or ended.
func (f *feed) reportSaturation(l *load, backlog, grown int) {
	f.bus.mu.Lock()
	places, limited := f.places, 0
	if f.scheduler != nil {
		limited = f.scheduler.Limited()
	}
	f.bus.mu.Unlock()
	log := f.bus.config.logger.With("subscription_id", f.name, "concurrency", places, "backlog", backlog)
	if !l.saturated {
		log.Info("a subscription is no longer saturated")
		return
	}
	advice := "raise concurrency in the catalogue, or WithConcurrency, or make the handler faster"
	if places == 1 {
		advice = "run more handlers at once: concurrency: 8 in the catalogue, or WithConcurrency(8)"
		if !f.partitioned() {
			advice += "; if the order matters, give the events a partition_by first"
		}
	}
	if limited > 0 {
		advice = "a limit holds deliveries back, so more handlers at once would not help: raise the limit, or make the handlers faster"
	}
	log.Warn("a subscription is saturated: its handlers are busy all the time, and its backlog grows", "grown", grown, "advice", advice)
}

// partitioned tells whether all its event types have a partition key.
func (f *feed) partitioned() bool {
	for _, eventType := range f.types() {
		if t := f.bus.catalogue.Lookup(eventType); t == nil || !typeOf(t).partitioned() {
			return false
		}
	}
	return true
}

// saturatedNow returns the names of the subscriptions that are saturated.
func (h *healthWatch) saturatedNow() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.saturatedNames
}
