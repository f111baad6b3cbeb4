package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"maragu.dev/goqite"
	"maragu.dev/goqite/jobs"
)

// goqiteTable returns the statements with which goqite's users make its table. The module has
// them in a file, which it does not embed.
var goqiteTable = sync.OnceValues(func() (string, error) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return "", fmt.Errorf("the folder of the module is unknown (run the program in its own folder, bench/peers): %w", err)
	}
	statements, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "schema_sqlite.sql"))
	return string(statements), err
})

type goqiteSystem struct {
	db      *sql.DB
	queue   *goqite.Queue
	runner  *jobs.Runner
	cancel  context.CancelFunc
	stopped chan struct{}
}

const goqiteJob = "order.placed"

func openGoqite(ctx context.Context, path string, s setup) (system, error) {
	db, err := openDatabase(mattn, path, 1)
	if err != nil {
		return nil, err
	}
	exists := false
	if err := db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'goqite'").Scan(&exists); err != nil {
		return nil, err
	}
	if !exists {
		table, err := goqiteTable()
		if err != nil {
			return nil, err
		}
		if _, err := db.ExecContext(ctx, table); err != nil {
			return nil, err
		}
	}
	queueOpts := goqite.NewOpts{DB: db, Name: "jobs"}
	runnerOpts := jobs.NewRunnerOpts{Limit: 1, PollInterval: 10 * time.Millisecond}
	if s.tuned {
		queueOpts.Timeout = time.Second
		runnerOpts = jobs.NewRunnerOpts{Limit: 128, PollInterval: time.Millisecond, Extend: time.Second}
	}
	queue := goqite.New(queueOpts)
	runnerOpts.Queue = queue
	runner := jobs.NewRunner(runnerOpts)
	if s.subscribers > 0 {
		runner.Register(goqiteJob, func(ctx context.Context, data []byte) error {
			number, err := decoded(data)
			return errors.Join(err, s.handle(ctx, 0, number))
		})
	}
	return &goqiteSystem{db: db, queue: queue, runner: runner}, nil
}

func (s *goqiteSystem) publish(ctx context.Context, number int64) error {
	data, err := encoded(number)
	if err != nil {
		return err
	}
	_, err = jobs.Create(ctx, s.queue, goqiteJob, goqite.Message{Body: data})
	return err
}

func (s *goqiteSystem) start(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(ctx)
	s.stopped = make(chan struct{})
	go func() {
		defer close(s.stopped)
		s.runner.Start(ctx)
	}()
	return nil
}

func (s *goqiteSystem) close() error {
	if s.cancel != nil {
		s.cancel()
		<-s.stopped
	}
	return s.db.Close()
}
