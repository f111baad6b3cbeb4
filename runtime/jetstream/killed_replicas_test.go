//go:build unix

package jetstream_test

import (
	"context"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
)

// openRows returns the subjects of the rows that are not settled, a few of them.
func (f *found) openRows() (subjects []string) {
	for subject, r := range f.rows {
		if (r.State == "waiting" || r.State == "held") && len(subjects) < 5 {
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// onReplicas says which messages of a subject each server has. Any of them may keep a
// consumer, so it makes some until all have been asked.
func onReplicas(client js.JetStream, subject string) (lines []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stream, err := client.Stream(ctx, "bus")
	if err != nil {
		return []string{fmt.Sprint(subject, ": ", err)}
	}
	state, seen := stream.CachedInfo(), map[string]bool{}
	for tries := 0; tries < 60 && len(seen) < 3 && ctx.Err() == nil; tries++ {
		c, err := stream.CreateConsumer(ctx, js.ConsumerConfig{FilterSubject: subject, AckPolicy: js.AckNonePolicy, MemoryStorage: true, Replicas: 1})
		if err != nil {
			continue
		}
		info := c.CachedInfo()
		if info.Cluster != nil && !seen[info.Cluster.Leader] {
			seen[info.Cluster.Leader] = true
			line := fmt.Sprintf("%s on %s (the leader is %s, the last message %d):", subject, info.Cluster.Leader, state.Cluster.Leader, state.State.LastSeq)
			if page, err := c.Fetch(20, js.FetchMaxWait(time.Second)); err != nil {
				line += fmt.Sprint(" ", err)
			} else {
				for m := range page.Messages() {
					at, _ := m.Metadata()
					line += fmt.Sprintf("\n\t%d of %s, in batch %s: %.400s", at.Sequence.Stream, at.Timestamp.Format(time.StampMilli), m.Headers().Get("Nats-Batch-Id"), m.Data())
				}
			}
			lines = append(lines, line)
		}
		stream.DeleteConsumer(ctx, info.Name)
	}
	return lines
}
