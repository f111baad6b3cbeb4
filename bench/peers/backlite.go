package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/mikestefanello/backlite"

	"github.com/busgen/busgen/bench/events"
)

// backliteTask is a payload as backlite wants it, with the settings of its documentation.
type backliteTask struct{ events.OrderPlaced }

func (backliteTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{
		Name: "order.placed", MaxAttempts: 5, Backoff: 5 * time.Second, Timeout: 10 * time.Second,
		Retention: &backlite.Retention{Duration: 6 * time.Hour, Data: &backlite.RetainData{OnlyFailed: true}},
	}
}

// tunedTask is the same without a row that is kept when it is done, and with a timeout that is
// much shorter than the tuned ReleaseAfter, as the documentation wants it.
type tunedTask struct{ events.OrderPlaced }

func (tunedTask) Config() backlite.QueueConfig {
	c := backliteTask{}.Config()
	c.Retention = nil
	c.Timeout = 100 * time.Millisecond
	return c
}

type backliteSystem struct {
	db     *sql.DB
	client *backlite.Client
	tuned  bool
	cancel context.CancelFunc
}

func openBacklite(ctx context.Context, path string, s setup) (system, error) {
	connections := 0
	config := backlite.ClientConfig{NumWorkers: 10, ReleaseAfter: 10 * time.Minute, CleanupInterval: time.Hour}
	if s.tuned {
		connections = 1
		config.NumWorkers, config.ReleaseAfter = 128, time.Second
	}
	db, err := openDatabase(mattn, path, connections)
	if err != nil {
		return nil, err
	}
	config.DB = db
	client, err := backlite.NewClient(config)
	if err != nil {
		return nil, err
	}
	if err := client.Install(); err != nil {
		return nil, err
	}
	if s.subscribers > 0 && s.tuned {
		client.Register(backlite.NewQueue(func(ctx context.Context, t tunedTask) error { return s.handle(ctx, 0, t.Total) }))
	} else if s.subscribers > 0 {
		client.Register(backlite.NewQueue(func(ctx context.Context, t backliteTask) error { return s.handle(ctx, 0, t.Total) }))
	}
	return &backliteSystem{db: db, client: client, tuned: s.tuned}, nil
}

func (s *backliteSystem) publish(ctx context.Context, number int64) error {
	var task backlite.Task = backliteTask{payload(number)}
	if s.tuned {
		task = tunedTask{payload(number)}
	}
	_, err := s.client.Add(task).Ctx(ctx).Save()
	return err
}

func (s *backliteSystem) start(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(ctx)
	s.client.Start(ctx)
	return nil
}

func (s *backliteSystem) close() error {
	if s.cancel != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		s.client.Stop(ctx)
		s.cancel()
	}
	return s.db.Close()
}

func multiplyBacklite(ctx context.Context, path string, n int) error {
	return copyRow(ctx, path, "backlite_tasks_completed", n, map[string]string{"id": "'copy-' || printf('%09d', i)"})
}
