package background

import (
	"context"
	"log/slog"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

const (
	// pruneEvery is how often Prune looks for events to delete.
	pruneEvery = time.Minute
	// redriveEvery is how often Redrive looks for dead letters to redrive.
	redriveEvery = 10 * time.Second
	// takeInEvery is how often TakeIn looks whether others have sent something.
	takeInEvery = 200 * time.Millisecond
	// redriveLimit is how many dead letters one transaction redrives at most.
	redriveLimit = 250
)

// Prune deletes settled events that are older than retention, until ctx ends.
func Prune(ctx context.Context, log engine.Maintainer, retention time.Duration, logger *slog.Logger) {
	every(ctx, pruneEvery, func(ctx context.Context) error {
		n, err := log.Prune(ctx, time.Now().Add(-retention))
		if n > 0 {
			logger.Debug("settled events pruned", "events", n)
		}
		return err
	}, func(err error) {
		logger.Error("settled events cannot be pruned; trying again every minute", "error", err)
	})
}

// RedriveRule says which dead letters of a subscription are redriven.
type RedriveRule struct {
	Subscription string
	Type         string
	Reasons      []string
	Every        time.Duration // the time between a dead letter and its redrive
	Max          int           // the largest number of redrives
}

// Redrive redrives dead letters until ctx ends. It calls rules before each round, so
// that changed rules apply.
func Redrive(ctx context.Context, log engine.Maintainer, rules func() []RedriveRule, logger *slog.Logger) {
	every(ctx, redriveEvery, func(ctx context.Context) error {
		for _, rule := range rules() {
			if err := redrive(ctx, log, rule, logger); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		logger.Error("dead letters cannot be redriven; trying again", "error", err)
	})
}

func redrive(ctx context.Context, log engine.Maintainer, rule RedriveRule, logger *slog.Logger) error {
	spec := engine.RedriveSpec{
		Subscription: rule.Subscription, Type: rule.Type, Reasons: rule.Reasons,
		DeadBefore: time.Now().Add(-rule.Every), Max: rule.Max, Limit: redriveLimit,
	}
	for n := redriveLimit; n == redriveLimit; {
		var err error
		if n, err = log.Redrive(ctx, spec); err != nil {
			return err
		}
		if n > 0 {
			logger.Info("dead letters are redriven", "subscription_id", rule.Subscription, "event_type", rule.Type, "events", n)
		}
	}
	return nil
}

// TakeIn takes over what others send, until ctx ends.
func TakeIn(ctx context.Context, log engine.Inbox, logger *slog.Logger) {
	every(ctx, takeInEvery, func(ctx context.Context) error {
		for {
			if n, err := log.TakeIn(ctx); n == 0 || err != nil {
				return err
			}
		}
	}, func(err error) {
		logger.Error("what others have sent cannot be taken over; trying again", "error", err)
	})
}

// every calls do at each interval until ctx ends. It calls complain for the first of
// several failures in a row.
func every(ctx context.Context, interval time.Duration, do func(ctx context.Context) error, complain func(err error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := do(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			complain(err)
		}
		failing = err != nil
	}
}
