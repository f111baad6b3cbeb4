package sqlite

import (
	"bytes"
	"slices"
	"testing"

	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

func TestCopiesOfSeveralEventsShareMemoryAndNotTheirBytes(t *testing.T) {
	var c tables.Copies
	var all [][]byte
	texts := [][]byte{[]byte("one"), {}, nil, bytes.Repeat([]byte("x"), tables.CopiesAtOnce/4), bytes.Repeat([]byte("y"), tables.CopiesAtOnce/4+1)}
	for i := range 100 {
		text := slices.Clone(texts[i%len(texts)])
		all = append(all, c.Of(text, 100-i))
		clear(text) // SQLite uses its memory again
	}
	for i, copied := range all {
		want := texts[i%len(texts)]
		if string(copied) != string(want) || len(want) == 0 && copied != nil {
			t.Fatalf("copy %d is %.20q, want %.20q", i, copied, want)
		}
		_ = append(copied, "next"...)
	}
	if string(all[0]) != "one" || all[3][0] != 'x' {
		t.Error("who appends to a copy writes over the next")
	}
	if n := testing.AllocsPerRun(10, func() {
		var c tables.Copies
		for i := range 16 {
			_ = c.Of(texts[0], 16-i)
		}
	}); n > 1 {
		t.Errorf("16 short copies make %v allocations, want 1", n)
	}
}
