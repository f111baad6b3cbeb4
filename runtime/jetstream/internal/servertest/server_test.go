package servertest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAServerWorksInVirtualTime(t *testing.T) {
	for range 2 {
		real := time.Now()
		synctest.Test(t, func(t *testing.T) {
			s := Start(t, t.TempDir())
			nc, err := s.Connect()
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			js, _ := jetstream.New(nc)
			ctx := context.Background()
			_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "b", Subjects: []string{"b.>"}, AllowAtomicPublish: true, AllowRollup: true, AllowMsgTTL: true, AllowDirect: true})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = js.Publish(ctx, "b.a", []byte("x"), jetstream.WithMsgTTL(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			st, _ := js.Stream(ctx, "b")
			info, _ := st.Info(ctx)
			t.Log(time.Since(began), info.State.Msgs)
		})
		t.Log(time.Since(real))
	}
}

// A timer that the client has made in one bubble would end the process in another.
func TestTheClientKeepsNoTimersFromOneBubbleToTheNext(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			nc, err := Start(t, t.TempDir()).Connect()
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if err := nc.FlushTimeout(time.Second); err != nil {
				t.Fatal(err)
			}
		})
	}
}
