package servertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// CopyTo copies a stream to another server, with the sequence numbers of its messages. Those
// that are kept are in the copy, although they are deleted.
func (s *Server) CopyTo(t *testing.T, to *Server, name string, kept ...*jetstream.RawStreamMsg) {
	t.Helper()
	if err := s.copyTo(to, name, kept); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) copyTo(to *Server, name string, kept []*jetstream.RawStreamMsg) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var ends [2]jetstream.JetStream
	for i, server := range []*Server{s, to} {
		nc, err := server.Connect()
		if err != nil {
			return err
		}
		defer nc.Close()
		if ends[i], err = jetstream.New(nc); err != nil {
			return err
		}
	}
	from, err := ends[0].Stream(ctx, name)
	if err != nil {
		return err
	}
	copied, err := ends[1].CreateStream(ctx, from.CachedInfo().Config)
	if err != nil {
		return err
	}
	for seq := uint64(1); seq <= from.CachedInfo().State.LastSeq; seq++ {
		m, err := from.GetMsg(ctx, seq)
		if at := slices.IndexFunc(kept, func(m *jetstream.RawStreamMsg) bool { return m.Sequence == seq }); at >= 0 {
			m, err = kept[at], nil
		}
		gone := errors.Is(err, jetstream.ErrMsgNotFound)
		if err != nil && !gone {
			return err
		}
		msg := &nats.Msg{Subject: name + ".gone", Header: nats.Header{}}
		if !gone {
			msg.Subject, msg.Data = m.Subject, m.Data
			for key, values := range m.Header {
				// What the server has to do with the message was done.
				if !strings.HasPrefix(key, "Nats-") || key == "Nats-TTL" || key == "Nats-Msg-Id" {
					msg.Header[key] = values
				}
			}
		}
		ack, err := ends[1].PublishMsg(ctx, msg)
		if err != nil {
			return err
		}
		if ack.Sequence != seq {
			return errors.New("the copy has other sequence numbers")
		}
		if gone {
			if err := copied.DeleteMsg(ctx, seq); err != nil {
				return err
			}
		}
	}
	return nil
}
