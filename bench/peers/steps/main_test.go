package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(childName) != "" {
		if err := beChild(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestEachRunsFlows(t *testing.T) {
	for _, c := range contestants {
		t.Run(c.name, func(t *testing.T) {
			if _, err := flows(t.Context(), c, filepath.Join(t.TempDir(), "shop.db"), 4, 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// crash itself fails if a flow does not end, a row is missing, or an effect comes again after its step has returned.
func TestEachGoesOnAfterAKill(t *testing.T) {
	for _, c := range contestants {
		t.Run(c.name, func(t *testing.T) {
			if _, err := crash(t.Context(), c, filepath.Join(t.TempDir(), "shop.db"), crashes[2]); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTheJournalSeesWhatCameAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "effects")
	before, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	before.write("charge", 7)
	before.write("charge", 8)
	before.write("print", 8)
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	j.write("charge", 7)
	if j.twice() != 1 || j.late != 0 {
		t.Errorf("%d came twice and %d late, want 1 and 0", j.twice(), j.late)
	}
	j.write("charge", 8)
	if j.twice() != 2 || j.late != 1 {
		t.Errorf("%d came twice and %d late, want 2 and 1", j.twice(), j.late)
	}
	j.write("mail", 7)
	if n := j.left(); n != crashFlows-1 {
		t.Errorf("%d flows have not ended, want %d", n, crashFlows-1)
	}
}
