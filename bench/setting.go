package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// setting is the environment of a case: a folder, how long to measure, and what to close
// at the end.
type setting struct {
	dir     string
	total   time.Duration // how long to measure, about
	events  int           // how many a file has when a case is about files with many
	fillFor time.Duration // how long such a file may take to make, with fewer events then; 0 for ever

	files   int
	closing []func() error
}

// file returns the path of a file that does not exist.
func (s *setting) file() string {
	s.files++
	return filepath.Join(s.dir, fmt.Sprintf("%d.db", s.files))
}

// open opens a bus for as long as the case lasts.
func (s *setting) open(ctx context.Context, path string) (*bus, error) {
	b, err := openBus(ctx, path)
	if err == nil {
		s.closing = append(s.closing, func() error { return b.Shutdown(context.WithoutCancel(ctx)) })
	}
	return b, err
}

// bus returns the side of a load on a bus with the file at path.
func (s *setting) bus(ctx context.Context, path string, l load) (side, error) {
	b, err := s.open(ctx, path)
	if err != nil {
		return nil, err
	}
	var model *readModel
	if l.writes {
		if model, err = s.readModel(); err != nil {
			return nil, err
		}
	}
	if err := b.subscribe(ctx, l.subscriptions, l.batched, model); err != nil {
		return nil, err
	}
	return func(d time.Duration) (int, error) { return l.run(ctx, b, d) }, nil
}

func (s *setting) openLimit(ctx context.Context) (*limit, error) {
	l, err := openLimit(ctx, s.file())
	if err == nil {
		s.closing = append(s.closing, l.close)
	}
	return l, err
}

// close closes what is open, the newest first.
func (s *setting) close() (err error) {
	for _, c := range slices.Backward(s.closing) {
		err = errors.Join(err, c())
	}
	return err
}
