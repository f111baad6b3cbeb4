package jetstream_test

import (
	"context"
	"strings"
	"testing"
)

func TestStatusKnowsThatAProcessHasDispatched(t *testing.T) {
	inShop(t, func(s *shop) {
		must(t, s.Shutdown(context.Background()))
		if out := s.does("busgen status " + shopTarget); !strings.Contains(out, "No process dispatches from it.") {
			t.Errorf("after the process has ended:\n%s", out)
		}
	})
}
