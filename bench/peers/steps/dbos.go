package main

import (
	"context"
	"database/sql"
	"log/slog"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // database/sql: "sqlite"
)

type dbosShop struct {
	dbos dbos.Context
	file *sql.DB
	own  *dbos.DataSource
	do   world
}

func openDBOS(ctx context.Context, path string, do world, synced string, connections int) (shop, error) {
	file, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)"+
		"&_pragma=foreign_keys(on)&_pragma=journal_mode(wal)&_pragma=synchronous("+synced+")")
	if err != nil {
		return nil, err
	}
	file.SetMaxOpenConns(connections)
	file.SetMaxIdleConns(connections)
	if _, err := file.ExecContext(ctx, createRows); err != nil {
		return nil, err
	}
	silent := slog.New(slog.DiscardHandler)
	c, err := dbos.NewContext(ctx, dbos.Config{AppName: "shop", SQLiteSystemDB: file, Logger: silent})
	if err != nil {
		return nil, err
	}
	s := &dbosShop{dbos: c, file: file, do: do}
	if s.own, err = dbos.NewDataSource(c, file); err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(c, s.fulfil, dbos.WithWorkflowName("fulfil"))
	return s, dbos.Launch(c)
}

func (s *dbosShop) fulfil(ctx dbos.Context, order int64) (string, error) {
	if _, err := s.row(ctx, "reserve", order); err != nil {
		return "", err
	}
	for _, name := range []string{"charge", "print", "invoice"} {
		if _, err := s.step(ctx, name, order); err != nil {
			return "", err
		}
	}
	if _, err := s.row(ctx, "ship", order); err != nil {
		return "", err
	}
	_, err := s.step(ctx, "mail", order)
	return "", err
}

func (s *dbosShop) step(ctx dbos.Context, name string, order int64) (Done, error) {
	return dbos.RunAsStep(ctx, func(context.Context) (Done, error) { return s.do(name, order) }, dbos.WithStepName(name))
}

func (s *dbosShop) row(ctx dbos.Context, name string, order int64) (Done, error) {
	return dbos.RunAsTransaction(ctx, s.own, func(ctx context.Context, tx dbos.Tx) (Done, error) {
		_, err := tx.Exec(ctx, insertRow, order, name)
		return Done{ID: name}, err
	}, dbos.WithStepName(name))
}

func (s *dbosShop) begin(_ context.Context, order int64) (func(context.Context) error, error) {
	handle, err := dbos.RunWorkflow(s.dbos, s.fulfil, order)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		_, err := handle.GetResult()
		return err
	}, nil
}

func (s *dbosShop) rows(ctx context.Context) (n int, err error) {
	err = s.file.QueryRowContext(ctx, countRows).Scan(&n)
	return n, err
}

func (s *dbosShop) close(context.Context) error {
	dbos.Shutdown(s.dbos, closing)
	return s.file.Close()
}
