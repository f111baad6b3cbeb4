package inspect_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

func TestAnInspectorNeedsAnEventLog(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("not a database, ", 100)), 0o600))
	empty := filepath.Join(folder, "empty")
	must(t, os.WriteFile(empty, nil, 0o600))
	for name, path := range map[string]string{"a file that does not exist": filepath.Join(folder, "none"), "a text file": text, "an empty file": empty} {
		_, err := inspect.Open(t.Context(), path)
		var storage *runtime.StorageError
		if !errors.As(err, &storage) || storage.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none")); err == nil {
		t.Error("looking for a file has created it")
	}
}

func TestOptionsThatCannotBeMeantAreRefused(t *testing.T) {
	for want, option := range map[string]inspect.Option{"WithActor": inspect.WithActor(""), "WithEditing": inspect.WithEditing(nil)} {
		if _, err := inspect.Open(t.Context(), "none", option); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
}

func TestAClosedInspectorSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := openJobs(t).inspect(inspect.WithEditing(jobCatalogue.Check))
		must(t, i.Close())
		must(t, i.Close())
		ctx, until := t.Context(), inspect.Selection{Filter: inspect.Filter{Until: jan(1)}}
		for name, call := range map[string]func() error{
			"List":    func() error { _, _, err := i.DeadLetters(ctx, inspect.Filter{}, inspect.Page{}); return err },
			"Count":   func() error { _, err := i.CountDeadLetters(ctx, inspect.Filter{}); return err },
			"Get":     func() error { _, err := i.DeadLetter(ctx, inspect.Key{}); return err },
			"Groups":  func() error { _, err := i.FailureGroups(ctx, inspect.Filter{}); return err },
			"Retry":   func() error { _, err := i.Retry(ctx, inspect.Selection{}); return err },
			"Discard": func() error { _, err := i.DiscardDeadLetters(ctx, inspect.Selection{}, "old"); return err },
			"Purge":   func() error { _, err := i.Purge(ctx, until); return err },
			"Edit":    func() error { _, err := i.Edit(ctx, inspect.Key{}, nil); return err },
			"Export":  func() error { _, err := i.Export(ctx, &strings.Builder{}, inspect.Filter{}); return err },
			"Import":  func() error { _, err := i.Import(ctx, strings.NewReader("")); return err },
			"Audit":   func() error { _, _, err := i.Audit(ctx, inspect.AuditFilter{}, inspect.Page{}); return err },
		} {
			if err := call(); !errors.Is(err, inspect.ErrClosed) {
				t.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		}
	})
}

func TestAKeyIsReadAsItIsPrinted(t *testing.T) {
	key := inspect.Key{EventID: uuid.Must(uuid.NewV7()), Subscription: "billing/eu west"}
	if got, err := inspect.ParseKey(key.String()); got != key || err != nil {
		t.Errorf("ParseKey(%s) = %v, %v", key, got, err)
	}
	for _, text := range []string{"", "x", "x/y", key.EventID.String(), key.EventID.String() + "/"} {
		if _, err := inspect.ParseKey(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("ParseKey(%q) returned %v", text, err)
		}
	}
}
