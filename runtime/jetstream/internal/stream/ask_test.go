package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// Servers drop requests while they have no leader.
func TestARequestThatAServerHasDroppedIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		nc, err := f.server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		asked := 0
		nc.Subscribe("FAKE.STREAM.INFO.bus", func(m *nats.Msg) {
			if asked++; asked > 1 {
				m.Respond([]byte(`{"state": {"last_seq": 3}}`))
			}
		})
		synctest.Wait()
		f.reader.SetAPI("FAKE.")
		began := time.Now()
		last, err := f.reader.Last(t.Context())
		if took := time.Since(began); err != nil || last != 3 || took > 2*time.Second {
			t.Errorf("after %v: %d, %v", took, last, err)
		}
	})
}
