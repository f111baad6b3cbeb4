package inspect

import (
	"context"
	"fmt"
)

// As opens the same log once more, for another actor: what the returned File changes is
// in the audit under that name. It has the other options of f, and hides what f hides. Both must be closed, in any
// order. A program that acts for several people, such as a page for operators, opens one
// for each action.
func (f *File) As(ctx context.Context, actor string) (*File, error) {
	as := &File{engine: f.engine, target: f.target, check: f.check}
	if err := WithActor(actor)(as); err != nil {
		return nil, fmt.Errorf("open a file for another actor: %w", err)
	}
	var err error
	if as.log, err = as.engine.Inspect(ctx, as.target, as.actor); err != nil {
		return nil, err
	}
	if f.hides() {
		return as.Hiding(), nil
	}
	return as, nil
}
