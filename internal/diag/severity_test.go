package diag_test

import (
	"testing"

	"github.com/busgen/busgen/internal/diag"
)

func TestTheWordsOfSeveritiesAreReadAgain(t *testing.T) {
	words := diag.SeverityWords()
	for i, word := range words {
		if s, err := diag.ParseSeverity(word); err != nil || s != diag.Severity(i) || s.String() != word {
			t.Errorf("%s is read as %v, %v", word, s, err)
		}
	}
	if _, err := diag.ParseSeverity("bad"); err == nil || len(words) != 4 {
		t.Error(words, err)
	}
}
