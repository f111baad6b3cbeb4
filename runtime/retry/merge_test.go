package retry_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/retry"
)

func TestMergedOptionsSetEachFieldOnce(t *testing.T) {
	base := []retry.Option{retry.Jitter(0.1), retry.MaxAttempts(3)}
	over := []retry.Option{retry.BaseDelay(time.Second), retry.Jitter(0)}
	want := []retry.Option{retry.MaxAttempts(3), retry.BaseDelay(time.Second), retry.Jitter(0)}
	if got := retry.Merge(base, over); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := retry.Merge(nil, nil); got != nil {
		t.Errorf("got %v of nothing", got)
	}
}
