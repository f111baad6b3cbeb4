package main

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/busgen/busgen/bench/events"
)

// riverJob is a payload as River wants it.
type riverJob struct{ events.OrderPlaced }

func (riverJob) Kind() string { return "order_placed" }

type riverWorker struct {
	river.WorkerDefaults[riverJob]
	handle func(ctx context.Context, subscriber int, number int64) error
}

func (w *riverWorker) Work(ctx context.Context, job *river.Job[riverJob]) error {
	return w.handle(ctx, 0, job.Args.Total)
}

type riverSystem struct {
	db     *sql.DB
	client *river.Client[*sql.Tx]
}

func openRiver(ctx context.Context, path string, s setup) (system, error) {
	db, err := openDatabase(modernc, path, 1)
	if err != nil {
		return nil, err
	}
	driver := riversqlite.New(db)
	logger := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: logger})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	config := &river.Config{Logger: logger}
	if s.subscribers > 0 {
		config.Workers = river.NewWorkers()
		river.AddWorker(config.Workers, &riverWorker{handle: s.handle})
		config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}
	}
	if s.tuned {
		// A cooldown is also how often an insert may leave a notification, which is one more row.
		config.FetchCooldown = 10 * time.Millisecond
		config.FetchPollInterval = 10 * time.Millisecond
		config.JobTimeout = 5 * time.Second
		config.RescueStuckJobsAfter = 5 * time.Second
	}
	client, err := river.NewClient(driver, config)
	return &riverSystem{db, client}, err
}

func (s *riverSystem) publish(ctx context.Context, number int64) error {
	_, err := s.client.Insert(ctx, riverJob{payload(number)}, nil)
	return err
}

func (s *riverSystem) start(ctx context.Context) error { return s.client.Start(ctx) }

func (s *riverSystem) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.client.StopAndCancel(ctx) // an error is that it was not started, or that a job goes on
	return s.db.Close()
}

func multiplyRiver(ctx context.Context, path string, n int) error {
	return copyRow(ctx, path, "river_job", n, map[string]string{"id": ""})
}
